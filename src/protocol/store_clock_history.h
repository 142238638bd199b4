#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "protocol/protocol.h"

namespace distlock {

/// The readings of the store's clock against this process's own steady one: whether it stepped
/// (R5), and what it says by now at the latest (R8's cutoff). Not synchronised.
///
/// The store reads its clock at some instant between the sending of a call and the receipt of its
/// answer. So each reading gives two bounds for *offset*, store time minus steady time:
///
///   low  = the store's time - steady time at the receipt
///   high = the store's time - steady time at the sending        (low <= offset <= high)
///
/// While the clock keeps pace the offset stays what it is, and lies within the bounds of every
/// reading at once. If the low bound of one reading is above the high bound of another, then no
/// single offset fits both: the clock has stepped, by their distance at the least. Slow calls make
/// the bounds wider. They can hide a step, and never make one up.
///
///   sent  received  store's time    low    high
///    10 s     12 s        1000 s  988 s   990 s
///    50 s     51 s        1080 s 1029 s  1030 s    1029 - 990: stepped ahead by 39 s or more
///    90 s    130 s        1120 s  990 s  1030 s    proves nothing: the call took 40 s
///
/// stepped() asks for the lowest high and the highest low within the window. It takes in the newest
/// reading from before the window, too: a step may lie between that and the first one within.
class StoreClockHistory {
 public:
  /// Readings closer together than `grain` are kept as one.
  explicit StoreClockHistory(std::chrono::nanoseconds grain) : grain_(grain) {}

  void note(const StoreNow& now, const SteadySpan& span);

  /// Whether that clock has stepped by more than `limit`, by two readings within the last `window`,
  /// or the one before it. Its own pace is no step.
  bool stepped(const std::string& clock, SteadyTime now, std::chrono::nanoseconds window,
               std::chrono::nanoseconds limit);

  /// How many readings are kept: some 4,096 at most, however many clocks take turns.
  std::size_t readings() const { return readings_.size(); }

  /// The latest that the clock read last can say at `now`. Nothing before the first reading.
  std::optional<StoreNow> at_most(SteadyTime now) const;

 private:
  // Store time minus steady time lies between `low` and `high`.
  struct Offsets {
    void take_in(const Offsets& later);

    std::string clock;
    SteadyTime begun;
    SteadyTime last;
    std::chrono::milliseconds lowest_high;
    std::chrono::milliseconds highest_low;
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
