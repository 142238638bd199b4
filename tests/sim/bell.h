#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scheduler.h"

namespace distlock::sim {

/// The store's bell: rings come after a while, to whoever listens by then.
class Bell {
 public:
  using Rung = std::function<void(std::string_view)>;

  explicit Bell(Scheduler& scheduler) : scheduler_(scheduler) {}

  std::shared_ptr<void> listen(std::string_view process, Rung rung);
  void ring(const std::string& process, const std::string& lock, Time delay);

 private:
  struct Listener {
    std::string process;
    Rung rung;
  };

  Scheduler& scheduler_;
  std::vector<std::weak_ptr<Listener>> listeners_;
};

}  // namespace distlock::sim
