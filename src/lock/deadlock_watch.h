#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "pinger/overview.h"
#include "protocol/deadlock.h"

namespace distlock {

/// Looks, now and then, whether a wait without a deadline can ever end (R22). A cycle is believed
/// by two looks. Both show the same places and holds. Each was there without a break then, so that
/// at one moment between the looks all were there at once. And both show a ping of every other
/// process of the cycle, later than the last of these places: none had ended by then.
///
/// A cycle through commands of `distlock run` may end, so it ends no wait. Each of its waiters that
/// believes it, by such looks, logs a warning: once.
///
/// A look of another thread of the process serves, too. It has to be begun in the last quarter of
/// the pause before this one is due.
class DeadlockWatch {
 public:
  /// `after`: the time from `begun` to the first look; 0: none is ever due. `process` is one's own.
  /// `warned`: whether a watch of the same wait has warned.
  DeadlockWatch(Overviews& overviews, std::chrono::nanoseconds after, SteadyTime begun,
                std::string process, bool& warned);

  /// When the next look is due. The distant future if none is.
  SteadyTime due() const { return due_; }

  /// The result of a look, for a ticket. A thread without a place in the store has a made-up one.
  enum class Seen { no_cycle, cycle, cycle_without_our_ping };

  /// Looks at all who wait; at most once a minute if there is nothing to see. After
  /// `cycle_without_our_ping` a ping lets the others believe it. While another thread looks, this
  /// one is soon due again.
  /// Errors: `deadlock` if the place of `ticket` is the last that came of a cycle that is to be
  /// believed. A store that fails shows nothing.
  Seen look(const Token& ticket, Clock& clock);

 private:
  /// Whether there is something new to be judged.
  bool look_at_all(Clock& clock);
  Seen judge(deadlock::Cycle cycle, const Token& ticket);
  /// Whether that cycle is believed once each other process has pinged again.
  bool needs_another_ping(const deadlock::Cycle& cycle) const;
  /// Of a cycle that this waiter has to end, or to warn of. Errors: `deadlock`.
  void believe_or_suspect(deadlock::Cycle cycle, bool all_live);
  void warn(const deadlock::Cycle& cycle);
  void look_again_in(std::chrono::nanoseconds pause);
  void look_later();

  Overviews& overviews_;
  const std::string process_;
  std::chrono::nanoseconds pause_;
  std::chrono::nanoseconds confirm_after_{0};
  SteadyTime due_;
  SteadyTime since_;  // A look that was begun earlier is too old.
  std::shared_ptr<const Overview> seen_;
  deadlock::Cycle suspected_;
  // When all processes of the suspected cycle were first seen alive, by the store's clock.
  std::optional<StoreTime> lived_at_;
  bool& warned_;
  std::optional<StoreTime> came_;  // The first look, by the store's clock.
};

}  // namespace distlock
