#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "protocol/protocol.h"

namespace distlock {

/// What this process has seen of the store's clock against its own steady one: whether it stepped
/// (R5), and what it must say now (R8's cutoff). Not synchronised.
class StoreClockHistory {
 public:
  /// Readings closer together than `grain` are kept as one.
  explicit StoreClockHistory(std::chrono::nanoseconds grain) : grain_(grain) {}

  void note(const StoreNow& now, const protocol::LocalSpan& span);

  /// Whether two readings of that clock within the last `window`, and the one before it, put it
  /// more than `limit` apart from where its own pace would have carried it.
  bool stepped(const std::string& clock, SteadyTime now, std::chrono::nanoseconds window,
               std::chrono::nanoseconds limit);

  /// The latest that the clock read last can say at `now`. Nothing before the first reading.
  std::optional<StoreNow> at_most(SteadyTime now) const;

 private:
  // Store time minus steady time lies between `low` and `high`.
  struct Offsets {
    std::string clock;
    SteadyTime begun;
    SteadyTime last;
    std::chrono::nanoseconds lowest_high;
    std::chrono::nanoseconds highest_low;
  };

  void forget_what_is_older(SteadyTime now);
  void halve();

  const std::chrono::nanoseconds grain_;
  std::chrono::nanoseconds longest_window_ = std::chrono::hours{24};
  std::deque<Offsets> readings_;
  std::optional<StoreNow> last_;
  SteadyTime last_sent_;
};

}  // namespace distlock
