#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

#include "distlock/clock.h"
#include "limit.h"

namespace distlock {

/// The time that the chores of one round have. A call of the store begins only if it may take its
/// whole limit. That limit ends before the next ping is due, or before two limits since the round
/// began have passed. The first of a round begins in any case, or a slow store would put the chores
/// off for ever. protocol::check_room() counts that. No call begins after a stop.
class ChoreTime {
 public:
  /// `begin_until`: the last moment for a call to begin, but for the first.
  ChoreTime(const Clock& clock, SteadyTime begin_until, std::stop_token stop = {})
      : clock_(clock), begin_until_(begin_until), stop_(std::move(stop)) {}
  /// Of a caller that has a limit, which is not over yet. Its last call begins `within` that time.
  ChoreTime(const Clock& clock, std::chrono::nanoseconds within, const Limit& limit)
      : ChoreTime(
            clock,
            std::min(clock.steady_now() + within, limit.deadline - std::chrono::nanoseconds{1}),
            limit.stop) {}

  /// Asked before each call of the store, and only if there is one to make.
  bool for_a_call() {
    const bool first = std::exchange(first_, false);
    const bool late = !first && clock_.steady_now() > begin_until_;
    over_ = over_ || late || stop_.stop_requested();
    calls_ += over_ ? 0 : 1;
    return !over_;
  }
  /// For a call that may be left out, and puts off no other.
  Limit limit() const { return {begin_until_ + std::chrono::nanoseconds{1}, stop_}; }
  /// How many calls there was time for.
  int calls() const { return calls_; }
  /// Whether a call had to be put off.
  bool over() const { return over_; }

 private:
  const Clock& clock_;
  const SteadyTime begin_until_;
  const std::stop_token stop_;
  int calls_ = 0;
  bool first_ = true;
  bool over_ = false;
};

}  // namespace distlock
