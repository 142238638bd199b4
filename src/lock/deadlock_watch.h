#pragma once

#include <chrono>
#include <functional>
#include <string_view>
#include <vector>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "protocol/deadlock.h"

namespace distlock {

/// Looks, now and then, whether a wait without a deadline can ever end (R22). A cycle is believed
/// when two looks show the same places and holds. Each was there without a break then, so that at
/// one moment between the looks all were there at once.
class DeadlockWatch {
 public:
  /// `after`: the time from `begun` to the first look; 0: none is ever due.
  DeadlockWatch(std::chrono::nanoseconds after, SteadyTime begun);

  /// When the next look is due. The distant future if none is.
  SteadyTime due() const { return due_; }

  /// Looks at all locks; at most once a minute if there is nothing to see.
  /// Errors: `deadlock` if the place of `ticket` is the last that came of a cycle, and the look
  /// before has shown it too. A store that fails shows nothing.
  void look(Store& store, const Token& ticket, Clock& clock);

  /// The same for a thread that waits for lock `name` behind another thread of its process, and so
  /// has no place in the store. It counts as the last that came, since no other process knows of
  /// it.
  void look_from_behind(Store& store, std::string_view name, const Waiter& hidden, Clock& clock);

 private:
  using Locks = std::function<std::vector<LockRecord>()>;
  void look_at(const Locks& locks, const Token& ticket, Clock& clock);
  void look_later(SteadyTime now);

  std::chrono::nanoseconds pause_;
  SteadyTime due_;
  deadlock::Cycle suspected_;
};

}  // namespace distlock
