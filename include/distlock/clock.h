#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "distlock/export.h"

namespace distlock {

/// This host's steady clock that also runs while the host is suspended (CLOCK_BOOTTIME). A type of
/// its own, without now(): only a Clock can read it, and it does not mix with wall or store time.
struct SteadyClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SteadyClock>;
  static constexpr bool is_steady = true;
};
using SteadyTime = SteadyClock::time_point;

/// How long to wait for `limit`: not less than nothing, at most 100 years; nothing for NaN.
template <class Rep, class Period>
std::chrono::nanoseconds bounded_wait(const std::chrono::duration<Rep, Period>& limit) {
  using Wide = std::chrono::duration<double>;
  constexpr std::chrono::hours kMost{24 * 365 * 100};
  if (Wide(limit) >= Wide(kMost)) return kMost;
  if (!(Wide(limit) > Wide(0))) return std::chrono::nanoseconds{0};
  return std::chrono::ceil<std::chrono::nanoseconds>(limit);
}

/// bounded_wait() for the time from `now` to `deadline`, also if no nanoseconds count so far.
template <class Clk, class Until, class Now>
std::chrono::nanoseconds bounded_wait(const std::chrono::time_point<Clk, Until>& deadline,
                                      const std::chrono::time_point<Clk, Now>& now) {
  using Wide = std::chrono::duration<double>;
  // It may be off by some microseconds, since it counts from the epoch.
  const Wide about = Wide(deadline.time_since_epoch()) - Wide(now.time_since_epoch());
  constexpr std::chrono::seconds kNear{1'000'000};
  if (about > -kNear && about < kNear) {
    // Without a sign their difference would be a long time.
    if (deadline <= now) return std::chrono::nanoseconds{0};
    return bounded_wait(deadline - now);
  }
  return bounded_wait(about);
}

/// This process's wall clock. Used for nothing but to be compared with the store's (R5).
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

/// All that the library knows of local time, and the only place where it waits.
///
/// Threads: all functions may be called concurrently.
class DISTLOCK_EXPORT Clock {
 public:
  virtual ~Clock() = default;

  virtual SteadyTime steady_now() const = 0;
  virtual WallTime wall_now() const = 0;

  /// Waits until `until` has come (true) or a stop is requested (false), whichever is first.
  virtual bool wait_until(SteadyTime until, const std::stop_token& stop) = 0;
};

/// The clock of this host.
DISTLOCK_EXPORT std::shared_ptr<Clock> host_clock();

}  // namespace distlock
