#pragma once

#include <string>
#include <string_view>

#include "distlock/clock.h"
#include "distlock/record.h"

namespace balancer {

/// The events of one process with their times, one JSON object a line. Each line is one write(), so
/// that a process that is killed leaves whole lines.
class Ledger {
 public:
  /// Appends to `path`, a file or a pipe. Throws std::system_error if it cannot be opened.
  Ledger(const std::string& path, std::string process, distlock::Clock& clock);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Notes something that happened at `at`.
  void note(distlock::SteadyTime at, std::string_view event, distlock::Fence fence,
            std::string_view detail = {}) const;
  /// Notes something that happens now.
  void note(std::string_view event, distlock::Fence fence, std::string_view detail = {}) const;

 private:
  std::string process_;
  distlock::Clock& clock_;
  int file_;
};

}  // namespace balancer
