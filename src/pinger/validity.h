#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "distlock/clock.h"

namespace distlock {

/// Until when one lock object may act on its hold (R9). Begun with a claim, moved on by confirmed
/// pings, ended by the thread that first sees that it has passed. Then it stays ended: a ping that
/// comes later revives nothing that was seen to be over.
///
/// Threads: begin(), begin_as(), begin_until() and end() by the lock object, one at a time; the
/// others by anybody.
class Validity {
 public:
  explicit Validity(std::chrono::nanoseconds span) : span_(span) {}

  /// `ping_sent`: from before the last confirmed ping was sent. A claim does not extend it.
  void begin(SteadyTime ping_sent) { store(ping_sent + span_); }
  /// With the deadline of `other`, also if it has ended.
  void begin_as(const Validity& other) { store(other.until()); }
  /// The distant past: it has ended.
  void begin_until(SteadyTime until) { store(until); }
  void end() { until_.store(kEnded, std::memory_order_release); }

  /// A ping that was sent at `sent` is known since `confirmed` to be durable.
  void extend(SteadyTime sent, SteadyTime confirmed) { extend_to(sent + span_, confirmed); }
  /// Up to `later`, as is known since `confirmed`.
  void extend_to(SteadyTime later, SteadyTime confirmed) {
    std::int64_t until = until_.load(std::memory_order_acquire);
    const std::int64_t longer = later.time_since_epoch().count();
    while (until != kEnded && longer > until) {
      const bool in_time = confirmed.time_since_epoch().count() < until;
      if (until_.compare_exchange_weak(until, in_time ? longer : kEnded)) return;
    }
  }

  /// It ends then, if it would end later.
  void shorten_to(SteadyTime sooner) {
    std::int64_t until = until_.load(std::memory_order_acquire);
    const std::int64_t shorter = sooner.time_since_epoch().count();
    while (shorter < until && !until_.compare_exchange_weak(until, shorter)) continue;
  }

  /// Whether it is over at `now`. Once true, true until the next begin().
  bool over(SteadyTime now) {
    std::int64_t until = until_.load(std::memory_order_acquire);
    while (now.time_since_epoch().count() >= until) {
      if (until == kEnded || until_.compare_exchange_weak(until, kEnded)) return true;
    }
    return false;
  }

  /// The distant past once it has ended.
  SteadyTime until() const {
    return SteadyTime{std::chrono::nanoseconds{until_.load(std::memory_order_acquire)}};
  }

 private:
  static constexpr std::int64_t kEnded = std::numeric_limits<std::int64_t>::min();

  void store(SteadyTime until) {
    until_.store(until.time_since_epoch().count(), std::memory_order_release);
  }

  std::chrono::nanoseconds span_;
  std::atomic<std::int64_t> until_{kEnded};
};

}  // namespace distlock
