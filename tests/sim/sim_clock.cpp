#include "sim/sim_clock.h"

#include <algorithm>

#include "sim/forked_child.h"

namespace distlock::sim {

SteadyTime SimClock::steady_at_this_moment() const { return steady_at(scheduler_.now()); }

SteadyTime SimClock::steady_at(Time then) const {
  if (then == kNever) return SteadyTime::max();
  const auto ticks = static_cast<double>(then.count()) * rate_;
  return SteadyTime{steady_offset_ + Time{static_cast<std::int64_t>(ticks)}};
}

SteadyTime SimClock::steady_now() const {
  perhaps_interrupted();
  return steady_at_this_moment();
}

WallTime SimClock::wall_now() const {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(scheduler_.now());
  return WallTime{kEpoch + since + wall_off_};
}

// As if the process lost its core between two instructions.
void SimClock::perhaps_interrupted() const {
  if (dead_ || interruptions_ == 0 || scheduler_.current() == nullptr) return;
  if (ForkedChild::running()) return;
  if (random_.chance(interruptions_)) scheduler_.yield();
}

void SimClock::set_interruptions(Random random, double probability) {
  random_ = random;
  interruptions_ = probability;
}

Time SimClock::true_time_of(SteadyTime time) const {
  constexpr Time kFar{std::int64_t{1} << 61U};
  const Time since = time.time_since_epoch();
  if (since >= kFar) return kNever;
  const auto ticks = static_cast<double>((since - steady_offset_).count()) / rate_;
  return Time{static_cast<std::int64_t>(ticks) + 1};
}

bool SimClock::wait_until(SteadyTime until, const std::stop_token& stop) {
  Fiber& self = *scheduler_.current();
  const std::stop_callback wake(stop, [&] { scheduler_.wake(self); });
  while (!dead_ && !stop.stop_requested()) {
    if (steady_at_this_moment() >= until) {
      scheduler_.note_no_rest();
      return true;
    }
    scheduler_.rest_until(std::max(true_time_of(until), scheduler_.now() + Time{1}));
  }
  if (!dead_) scheduler_.note_no_rest();
  return false;
}

}  // namespace distlock::sim
