#pragma once

#include <boost/thread/mutex.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/line.h"

namespace distlock {

/// The bell of a memory store: the ringing thread calls the listeners (R19).
class MemoryBell {
 public:
  std::shared_ptr<void> listen(std::string_view process, Line::Rung rung);
  void ring(std::string_view name, const std::vector<std::string>& processes);

 private:
  struct Listener {
    std::string process;
    Line::Rung rung;
  };

  std::vector<std::shared_ptr<Listener>> of(const std::vector<std::string>& processes);

  boost::mutex mutex_;
  std::vector<std::weak_ptr<Listener>> listeners_;
};

}  // namespace distlock
