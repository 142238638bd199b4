#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "protocol/deadlock.h"

namespace distlock {

/// Looks, now and then, whether a wait without a deadline can ever end (R22). A cycle is believed
/// by two looks. Both show the same places and holds. Each was there without a break then, so that
/// at one moment between the looks all were there at once. And both show a ping of every other
/// process of the cycle, later than the last of these places: none had ended by then.
class DeadlockWatch {
 public:
  /// Whether this process has given a hold or a place up, and the store does not know it yet.
  using GivenUp = std::function<bool(const Token& ts)>;

  /// The thread of this process that holds by `ts`, as `process:thread`, if one does. A hold that
  /// was passed on is of another than the one that claimed it (R21).
  using HolderOf = std::function<std::optional<std::string>(const Token& ts)>;

  /// `after`: the time from `begun` to the first look; 0: none is ever due. `process` is one's own.
  DeadlockWatch(std::chrono::nanoseconds after, SteadyTime begun, std::string process,
                GivenUp given_up, HolderOf holder_of);

  /// When the next look is due. The distant future if none is.
  SteadyTime due() const { return due_; }

  /// The result of a look, for a ticket.
  enum class Seen { no_cycle, cycle, cycle_without_our_ping };

  /// Looks at all locks; at most once a minute if there is nothing to see. After
  /// `cycle_without_our_ping` a ping lets the others believe it.
  /// Errors: `deadlock` if the place of `ticket` is the last that came of a cycle that is to be
  /// believed. A store that fails shows nothing.
  Seen look(Store& store, const Token& ticket, Clock& clock);

  /// The same for a thread that waits for lock `name` behind another thread of its process, and so
  /// has no place in the store. It counts as the last that came, since no other process knows of
  /// it.
  Seen look_from_behind(Store& store, std::string_view name, const Waiter& hidden, Clock& clock);

 private:
  using List = std::function<Listing()>;
  Seen look_at(const List& list, const Token& ticket, Clock& clock);
  /// Of a cycle that this waiter has to end. Errors: `deadlock`.
  void believe_or_suspect(deadlock::Cycle cycle, bool all_live, SteadyTime now);
  void look_later(SteadyTime now);
  void leave_out_given_up(std::vector<LockRecord>& locks) const;
  void put_holders_in(std::vector<LockRecord>& locks) const;

  const std::string process_;
  const GivenUp given_up_;
  const HolderOf holder_of_;
  std::chrono::nanoseconds pause_;
  std::chrono::nanoseconds confirm_after_{0};
  SteadyTime due_;
  deadlock::Cycle suspected_;
  bool lived_ = false;             // all processes of the suspected cycle, at the last look
  std::optional<StoreTime> came_;  // The first look, by the store's clock.
};

}  // namespace distlock
