#include "protocol/store_clock_history.h"

#include <algorithm>

namespace distlock {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kReadingsMax = 4096;

}  // namespace

void StoreClockHistory::note(const StoreNow& now, const SteadySpan& span) {
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
  forget_what_is_older(span.received);
  if (readings_.size() >= kReadingsMax) halve();
  readings_.push_back({now.clock, span.received, span.received, high, low});
}

// All but the newest reading of each clock from before the longest window that anybody asked about.
void StoreClockHistory::forget_what_is_older(SteadyTime now) {
  const auto needed = [&](auto reading) {
    if (now - reading->last <= longest_window_) return true;
    return std::none_of(std::next(reading), readings_.end(), [&](const Offsets& later) {
      return later.clock == reading->clock && now - later.last > longest_window_;
    });
  };
  while (!readings_.empty() && !needed(readings_.begin())) readings_.pop_front();
}

// Neighbours become one reading: the past gets coarser, but nothing that was seen is lost.
void StoreClockHistory::halve() {
  std::deque<Offsets> coarser;
  bool paired = true;
  for (Offsets& reading : readings_) {
    paired = !paired && coarser.back().clock == reading.clock;
    if (!paired) {
      coarser.push_back(std::move(reading));
      continue;
    }
    coarser.back().last = reading.last;
    coarser.back().lowest_high = std::min(coarser.back().lowest_high, reading.lowest_high);
    coarser.back().highest_low = std::max(coarser.back().highest_low, reading.highest_low);
  }
  readings_ = std::move(coarser);
}

bool StoreClockHistory::stepped(const std::string& clock, SteadyTime now, nanoseconds window,
                                nanoseconds limit) {
  longest_window_ = std::max(longest_window_, window);
  std::optional<nanoseconds> lowest_high;
  std::optional<nanoseconds> highest_low;
  for (auto reading = readings_.rbegin(); reading != readings_.rend(); ++reading) {
    if (reading->clock != clock) continue;
    lowest_high = std::min(lowest_high.value_or(reading->lowest_high), reading->lowest_high);
    highest_low = std::max(highest_low.value_or(reading->highest_low), reading->highest_low);
    if (now - reading->last > window) break;
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
