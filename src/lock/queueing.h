#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "lock/contender.h"
#include "lock/deadlock_watch.h"
#include "pinger/lobby.h"

namespace distlock {

/// One wait behind other threads of the process, until it is this thread's turn to stand in the
/// line of the store (R20).
///
/// A thread that has the object already waits for nobody: those in front may wait for just that
/// hold. Nobody's turn comes while a hold of this process may be passed on: that is how it comes
/// here then (R21).
class Queueing {
 public:
  enum class Turn {
    over,      ///< The deadline has come, or a stop was requested.
    to_stand,  ///< The lock object is in its phase *acquiring*, for this thread.
    held,      ///< A hold was passed on to this thread.
  };

  Queueing(Contender& lock, Lobby::Place& place, const WaitRequest& request);

  /// Errors: those of lock_try(); store failures only after LockOptions::store_patience.
  Turn wait();
  /// Whether a hold that was passed on came too late, and could not be given back.
  bool unsettled() const { return unsettled_; }

 private:
  /// One round. Nothing: not yet.
  std::optional<Turn> step();
  /// Enters the phase *acquiring* if it is this thread's turn and the object is free.
  bool come_forward(SteadyTime now);
  void check_patience(SteadyTime now) const;
  bool held_by_this_thread() const;
  /// Not free until its thread unlocks, though another may have the lock by then.
  bool object_holds_what_is_lost() const;
  /// Looks at the lock for this wait alone, and tells the program.
  void look();
  /// False if the store did not answer.
  bool tell_what_is_seen();
  SteadyTime look_due() const;
  SteadyTime next_round(SteadyTime now) const;

  Contender& lock_;
  Lobby::Place& place_;
  const WaitRequest& request_;
  Clock& clock_;
  DeadlockWatch deadlocks_;
  const std::string thread_;  // None where the wait ends by itself: it is in no deadlock.
  bool to_look_;              // At once, for the caller wants to know the holder.
  SteadyTime look_from_ = SteadyTime::min();
  bool our_turn_ = false;
  SteadyTime passing_until_ = SteadyTime::min();
  bool unsettled_ = false;
};

}  // namespace distlock
