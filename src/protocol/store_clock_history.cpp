#include "protocol/store_clock_history.h"

#include <algorithm>
#include <map>

#include "saturating.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kReadingsMax = 4096;

// A store's clock may say any date. Nanoseconds hold 292 years.
template <class LocalTime>
milliseconds offset(StoreTime time, LocalTime at) {
  return saturating_difference(time, StoreTime{at.time_since_epoch()});
}

}  // namespace

void StoreClockHistory::note(const StoreNow& now, const SteadySpan& span) {
  const milliseconds low = offset(now.time, std::chrono::ceil<milliseconds>(span.received));
  const milliseconds high = offset(now.time, std::chrono::floor<milliseconds>(span.sent));
  const Offsets reading{now.clock, span.received, span.received, high, low};
  last_ = StoreNow(now);  // A copy first: whole or not at all, where memory is short.
  last_sent_ = span.sent;
  const auto same = std::find_if(readings_.rbegin(), readings_.rend(),
                                 [&](const Offsets& one) { return one.clock == now.clock; });
  if (same != readings_.rend() && span.received - same->begun < grain_) {
    same->take_in(reading);
    return;
  }
  forget_what_is_older(span.received);
  if (readings_.size() >= kReadingsMax) halve();
  readings_.push_back(reading);
}

// Of the same clock.
void StoreClockHistory::Offsets::take_in(const Offsets& later) {
  last = later.last;
  lowest_high = std::min(lowest_high, later.lowest_high);
  highest_low = std::max(highest_low, later.highest_low);
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

// Two readings of a clock in turn become one: the past gets coarser, but nothing that was seen is
// lost.
void StoreClockHistory::halve() {
  std::deque<Offsets> coarser;
  std::map<std::string, Offsets*> unpaired;
  for (const Offsets& reading : readings_) {
    Offsets*& before = unpaired[reading.clock];
    if (before == nullptr) {
      before = &coarser.emplace_back(reading);
      continue;
    }
    before->take_in(reading);
    before = nullptr;
  }
  readings_ = std::move(coarser);
}

bool StoreClockHistory::stepped(const std::string& clock, SteadyTime now, nanoseconds window,
                                nanoseconds limit) {
  longest_window_ = std::max(longest_window_, window);
  std::optional<milliseconds> lowest_high;
  std::optional<milliseconds> highest_low;
  for (auto reading = readings_.rbegin(); reading != readings_.rend(); ++reading) {
    if (reading->clock != clock) continue;
    lowest_high = std::min(lowest_high.value_or(reading->lowest_high), reading->lowest_high);
    highest_low = std::max(highest_low.value_or(reading->highest_low), reading->highest_low);
    if (now - reading->last > window) break;
  }
  return highest_low && offset(StoreTime{*highest_low}, StoreTime{*lowest_high}) >
                            std::chrono::floor<milliseconds>(limit);
}

std::optional<StoreNow> StoreClockHistory::at_most(SteadyTime now) const {
  if (!last_) return std::nullopt;
  StoreNow then = *last_;
  const auto since = std::chrono::ceil<std::chrono::milliseconds>(now - last_sent_);
  then.time = saturating_sum(then.time, since);
  return then;
}

}  // namespace distlock
