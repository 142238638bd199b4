#pragma once

#include <chrono>
#include <cstdint>

#include "distlock/record.h"

// Dates in documents may be anything that 64 bits hold. So sums and differences of them end at the
// least and the greatest value, and do not overflow.
namespace distlock {

inline std::chrono::milliseconds saturating_sum(std::chrono::milliseconds a,
                                                std::chrono::milliseconds b) {
  using std::chrono::milliseconds;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return milliseconds{sum};
  return b < milliseconds{0} ? milliseconds::min() : milliseconds::max();
}

inline StoreTime saturating_sum(StoreTime time, std::chrono::milliseconds duration) {
  return StoreTime{saturating_sum(time.time_since_epoch(), duration)};
}

inline std::chrono::milliseconds saturating_difference(StoreTime later, StoreTime earlier) {
  using std::chrono::milliseconds;
  std::int64_t difference = 0;
  const std::int64_t from = earlier.time_since_epoch().count();
  if (!__builtin_sub_overflow(later.time_since_epoch().count(), from, &difference)) {
    return milliseconds{difference};
  }
  return later < earlier ? milliseconds::min() : milliseconds::max();
}

}  // namespace distlock
