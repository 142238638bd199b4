#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "distlock/options.h"
#include "distlock/pinger.h"
#include "pinger/chore_time.h"
#include "pinger/holds.h"
#include "pinger/of_another.h"
#include "pinger/pending_releases.h"
#include "pinger/repairs.h"
#include "protocol/protocol.h"

namespace distlock {

/// The work of a pinger after each good ping. It finds out which of its process's holds are lost
/// and which nobody knows of. It works off pending releases, and removes old pings (R8, R9, R13).
/// It goes on where the round before ran out of time, so that none of it waits for ever.
///
/// Threads: work_off() by any; while one is at it, the others leave it alone.
class Chores {
 public:
  Chores(const Environment& environment, const PingerOptions& options, Holds& holds,
         PendingReleases& pending, Ringer& ringer);

  /// As far as there is time before `next_ping` is due, in a round that began at `begun`.
  void work_off(SteadyTime begun, SteadyTime next_ping, const std::stop_token& stop) noexcept;

  /// Does a chore that may fail; the other chores go on.
  template <class Operation>
  static void attempt(const char* what, const Operation& chore) noexcept {
    try {
      chore();
    } catch (...) {
      tell_failure(what);
    }
  }

  /// Leaves a stray hold to the pending releases.
  void adopt(const StoredHold& hold);

  /// Why the store no longer has that hold, or nothing if it has. Errors: those of a read.
  std::optional<LossReason> fate_of(const std::string& name, const Token& ts) const;

 private:
  struct Chore {
    const char* what;
    void (Chores::*work)(ChoreTime& time);
  };
  // Those of members make no call on any other store.
  static const std::array<Chore, protocol::kChores + protocol::kChoresOfMembers> kInTurn;

  /// Of the exception that is being handled.
  static void tell_failure(const char* what) noexcept;
  void work_in_turn(ChoreTime& time) noexcept;
  /// Asks the store about this process's holds, and announces those that it no longer has. Each
  /// turn makes a new list, as soon as all of the last one are looked at that objects here have.
  void verify_holds(ChoreTime& time);
  /// At those of the last list that it does not show as they should be.
  void look_at_listed(ChoreTime& time);
  void list_holds();
  void keep_strays(std::vector<StoredHold> unknown);
  void lose_if_gone(const ActiveHold& hold);
  void count_carriers_only(const ActiveHold& hold);
  void look_at_strays(ChoreTime& time);
  void adopt_if_stray(const StoredHold& hold);
  /// Of one that a minority of the members carries for this process. On others it may be another's.
  bool may_be_counted_on(const StoredHold& hold);
  void repair_holds(ChoreTime& time);
  void release_pending(ChoreTime& time);
  void forget_old_pings(ChoreTime& time);
  void mend_members(ChoreTime& time);

  const Environment& environment_;
  const PingerOptions& options_;
  Holds& holds_;
  PendingReleases& pending_;
  Ringer& ringer_;

  std::atomic<bool> busy_{false};
  // Only for the thread that has set busy_.
  std::size_t next_ = 0;
  std::deque<ActiveHold> missing_;  // from the last list, and not yet looked at
  std::deque<ActiveHold> lacked_;   // on it, but not on a member that counts for it
  std::deque<StoredHold> strays_;   // in it, to no object here; those of earlier lists come first
  bool pending_first_ = false;      // The last turn had time for strays alone.
  HoldsOfNobody of_nobody_;
  Repairs repairs_;
  SteadyTime forget_next_;
};

}  // namespace distlock
