#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "support/still_clock.h"

namespace distlock::testing {

/// Stops one thread once, when a wait of it is over.
class PausingClock : public StillClock {
 public:
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    const bool passed = StillClock::wait_until(until, stop);
    if (std::this_thread::get_id() == thread) {
      thread = std::thread::id();
      pauses.count_down();
      go_on.wait();
      if (then) then();
    }
    return passed;
  }

  /// Lets it go on, once and for all.
  void go() {
    if (!gone_.exchange(true)) go_on.count_down();
  }

  std::atomic<std::thread::id> thread;
  std::latch pauses{1};
  std::latch go_on{1};
  /// Runs on that thread before its wait returns.
  std::function<void()> then;

 private:
  std::atomic<bool> gone_ = false;
};

}  // namespace distlock::testing
