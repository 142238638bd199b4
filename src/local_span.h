#pragma once

#include <utility>

#include "distlock/clock.h"

namespace distlock {

/// The two ends of a store call, on this process's steady clock: whatever the store did, it did
/// between.
struct SteadySpan {
  SteadyTime sent;
  SteadyTime received;
};

/// The same on both clocks of this process.
struct LocalSpan : SteadySpan {
  WallTime wall_sent;
  WallTime wall_received;
};

/// Makes the call, and gives its result and when that was.
template <class Call>
auto timed(Clock& clock, const Call& call) {
  LocalSpan span;
  span.sent = clock.steady_now();
  span.wall_sent = clock.wall_now();
  auto result = call();
  span.received = clock.steady_now();
  span.wall_received = clock.wall_now();
  return std::pair(std::move(result), span);
}

}  // namespace distlock
