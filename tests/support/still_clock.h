#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "distlock/clock.h"

namespace distlock::testing {

/// Time that stands still unless the test lets it pass. Threads that wait really wait.
class StillClock : public Clock {
 public:
  // Threads that get no memory wait as well.
  StillClock() { waiting_.reserve(100); }

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
    waiting_.emplace_back(std::this_thread::get_id(), until);
    const bool passed = passed_.wait(lock, stop, [&] { return now_ >= until; });
    waiting_.erase(of(std::this_thread::get_id()));
    return passed;
  }

  /// Whether that thread is in wait_until().
  bool waits(std::thread::id thread) const { return waits_until(thread).has_value(); }

  /// The time that it waits for there.
  std::optional<SteadyTime> waits_until(std::thread::id thread) const {
    const std::lock_guard lock(mutex_);
    const auto found = of(thread);
    return found == waiting_.end() ? std::nullopt : std::optional(found->second);
  }

  void advance(std::chrono::nanoseconds time) {
    {
      const std::lock_guard lock(mutex_);
      now_ += time;
    }
    passed_.notify_all();
  }

 private:
  using Waiting = std::vector<std::pair<std::thread::id, SteadyTime>>;

  Waiting::const_iterator of(std::thread::id thread) const {
    return std::find_if(waiting_.begin(), waiting_.end(),
                        [&](const auto& one) { return one.first == thread; });
  }

  mutable std::mutex mutex_;
  std::condition_variable_any passed_;
  Waiting waiting_;
  SteadyTime now_{std::chrono::hours{1}};
};

}  // namespace distlock::testing
