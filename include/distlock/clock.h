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
