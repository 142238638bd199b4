#pragma once

#include <mutex>

#include "distlock/clock.h"

namespace distlock::testing {

/// Time as a test tells it. Waiting passes the time at once.
class ManualClock : public Clock {
 public:
  SteadyTime steady_now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  WallTime wall_now() const override {
    const std::lock_guard lock(mutex_);
    return WallTime{std::chrono::floor<std::chrono::milliseconds>(now_.time_since_epoch())} +
           std::chrono::hours{480000} + wall_off_;
  }

  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    const std::lock_guard lock(mutex_);
    if (stop.stop_requested()) return false;
    if (until > now_) {
      waited_ += until - now_;
      now_ = until;
    }
    return true;
  }

  void advance(std::chrono::nanoseconds time) {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }

  /// Sets this wall clock apart from the others.
  void set_wall_off(std::chrono::milliseconds off) {
    const std::lock_guard lock(mutex_);
    wall_off_ = off;
  }

  /// All that was spent waiting.
  std::chrono::nanoseconds waited() const {
    const std::lock_guard lock(mutex_);
    return waited_;
  }

 private:
  mutable std::mutex mutex_;
  SteadyTime now_{std::chrono::hours{1}};
  std::chrono::milliseconds wall_off_{0};
  std::chrono::nanoseconds waited_{0};
};

}  // namespace distlock::testing
