#pragma once

#include <condition_variable>
#include <mutex>

#include "distlock/clock.h"

namespace distlock::testing {

/// Time that stands still unless the test lets it pass. Threads that wait really wait.
class StillClock : public Clock {
 public:
  SteadyTime steady_now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  WallTime wall_now() const override {
    const std::lock_guard lock(mutex_);
    return WallTime{std::chrono::floor<std::chrono::milliseconds>(now_.time_since_epoch())} +
           std::chrono::hours{480000};
  }

  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    return passed_.wait(lock, stop, [&] { return now_ >= until; });
  }

  void advance(std::chrono::nanoseconds time) {
    {
      const std::lock_guard lock(mutex_);
      now_ += time;
    }
    passed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any passed_;
  SteadyTime now_{std::chrono::hours{1}};
};

}  // namespace distlock::testing
