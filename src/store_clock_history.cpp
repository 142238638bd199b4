#include "store_clock_history.h"

#include <algorithm>

namespace distlock {
namespace {

using std::chrono::nanoseconds;

// A day and more at the default pace; what is older tells nothing about a window.
constexpr std::size_t kReadingsMax = 8192;

}  // namespace

void StoreClockHistory::note(const StoreNow& now, const protocol::LocalSpan& span) {
  // Dates that nanoseconds cannot hold come from no working clock, and saturate.
  using Saturated = std::chrono::duration<double, std::nano>;
  const Saturated wide = now.time.time_since_epoch();
  constexpr nanoseconds kMost = nanoseconds::max() / 4;
  const nanoseconds time = wide > Saturated{kMost}    ? kMost
                           : wide < Saturated{-kMost} ? -kMost
                                                      : nanoseconds{now.time.time_since_epoch()};
  const nanoseconds low = time - span.received.time_since_epoch();
  const nanoseconds high = time - span.sent.time_since_epoch();
  last_ = now;
  last_sent_ = span.sent;
  if (!readings_.empty() && readings_.back().clock == now.clock &&
      span.received - readings_.back().begun < grain_) {
    Offsets& same = readings_.back();
    same.last = span.received;
    same.lowest_high = std::min(same.lowest_high, high);
    same.highest_low = std::max(same.highest_low, low);
    return;
  }
  if (readings_.size() == kReadingsMax) readings_.pop_front();
  readings_.push_back({now.clock, span.received, span.received, high, low});
}

bool StoreClockHistory::stepped(const std::string& clock, SteadyTime now, nanoseconds window,
                                nanoseconds limit) const {
  std::optional<nanoseconds> lowest_high;
  std::optional<nanoseconds> highest_low;
  for (const Offsets& reading : readings_) {
    if (reading.clock != clock || now - reading.last > window) continue;
    lowest_high = std::min(lowest_high.value_or(reading.lowest_high), reading.lowest_high);
    highest_low = std::max(highest_low.value_or(reading.highest_low), reading.highest_low);
  }
  return highest_low && *highest_low - *lowest_high > limit;
}

std::optional<StoreNow> StoreClockHistory::at_most(SteadyTime now) const {
  if (!last_) return std::nullopt;
  StoreNow then = *last_;
  then.time += std::chrono::ceil<std::chrono::milliseconds>(now - last_sent_);
  return then;
}

}  // namespace distlock
