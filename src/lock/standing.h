#pragma once

#include <optional>
#include <stop_token>
#include <string_view>

#include "distlock/error.h"
#include "distlock/line.h"
#include "lock/contender.h"
#include "pinger/lobby.h"

namespace distlock {

/// One wait of one lock object in the line of its lock (R17 to R20). The object is in its phase
/// *acquiring* meanwhile.
///
///   stand    one write: takes or keeps the place, and claims at once if it is this ticket's turn
///   look     one read: judges the holder, and says when to look again
///   wait     until the bell rings, a turn or a takeover is foretold, or it is time to look
class StandingInLine {
 public:
  StandingInLine(Contender& lock, Lobby::Place& place, const WaitRequest& request);
  /// Gives the place up, unless it has become a hold. No call begins once a call has outlasted the
  /// wait (R15): the pinger gives that place up, at once.
  ~StandingInLine();
  StandingInLine(const StandingInLine&) = delete;
  StandingInLine& operator=(const StandingInLine&) = delete;

  /// Waits until the lock is held (true), or the deadline has come or a stop was requested.
  /// Errors: those of lock_try(); store failures only after LockOptions::store_patience.
  bool wait();

 private:
  /// The next step, and how a failure of the store is borne. True: held.
  bool step_on();
  /// Sleeps until something is due or the bell rings.
  void rest(const std::stop_token& rung);
  void begin_with_new_ticket();
  void give_up_place();
  void leave_pending_if_doubtful();
  /// Stands and looks, as far as it is due. True: held.
  bool step();
  /// Before each call of the store: whether there is time. Errors: `stopped`, `forked`.
  bool may_call() const;
  bool pinged();
  bool claim_remembered();
  bool stand();
  bool stand_or_look();
  void await_turn(bool in_line);
  bool look();
  bool learned_time();
  bool attends_another_than(const std::optional<Token>& hold) const;
  bool attend(const std::optional<Token>& hold);
  bool lets_others_first(const protocol::Judgement& judgement, const LockRecord& dead);
  bool lets_others_first_at_end(const LockRecord& dead);
  bool lets_others_first_to_free(const Inspection& seen);
  void ring_for_those_in_front(const std::vector<Waiter>& line);
  bool take_over(const TimedInspection& look);
  std::optional<LockRecord> sent_takeover(const ClaimFrom& from);
  void forget_failed_takeover();
  void look_for_turns_unheard(const Inspection& seen);
  void look_again_in(std::chrono::nanoseconds pause);
  void look_at(SteadyTime next);
  void tell();
  void look_for_deadlock();
  void look_soon_for_remains(const LockRecord& dead);
  void look_at_takeover(const TimedInspection& look, std::chrono::milliseconds left);
  void bear(const Error& error);
  bool keep(LockRecord record);
  bool claim_anew_from(LockRecord late);

  Contender& lock_;
  Lobby::Place& place_;
  const WaitRequest request_;
  Line& line_;
  Clock& clock_;
  const SteadyTime last_;  // A little before the deadline: the last step, and the place's end.
  Token ticket_;
  Fence fences_ = 1;  // that its claims are for
  bool begun_ = false;
  bool perhaps_in_line_ = false;
  bool ticket_spent_ = false;
  bool asked_ = false;     // with this ticket
  bool doubtful_ = false;  // The outcome of a request with this ticket is unknown.
  bool late_ = false;      // A call has outlasted the wait.
  SteadyTime last_sent_;
  bool answered_ = false;  // The store has answered in this step.
  SteadyTime fails_since_ = SteadyTime::max();
  std::optional<Error> failure_;
  std::optional<Token> takeover_of_;       // The dead hold that it tried to take over last.
  std::optional<Error> takeover_failure_;  // The last, if that was not answered since.
  SteadyTime takeover_fails_since_ = SteadyTime::max();
  std::optional<LockRecord> seen_;  // The lock at the last look, where that is to be told.
  int failures_ = 0;
  std::optional<Token> ended_;         // The hold of a process that has ended, seen at a look.
  SteadyTime ended_turn_at_;           // When it may be taken over from this place.
  std::optional<StoreTime> freed_at_;  // Of the lock, as it was seen free at a look.
  SteadyTime free_turn_at_;            // When this place claims it.
  bool free_turn_is_over_ = false;     // It has come by the last look, and the lock was free.
  bool nowhere_ = false;               // The last answer showed neither a place nor a free lock.
  bool hears_no_rings_ = false;        // It was passed over, and nobody has rung for it since.
  bool attends_nobody_ = false;    // The store tells of no later end: it knew one when last asked.
  std::optional<Token> attends_;   // The `ts` at the last answer, if the store tells of ends.
  std::optional<Token> attended_;  // The hold that a look has made it ask about last.
  std::optional<Token> remains_of_;  // The ended hold for which something acts, by the last look.
  std::chrono::milliseconds remains_pause_{};
  DeadlockWatch deadlocks_;
  SteadyTime stand_at_ = SteadyTime::min();
  SteadyTime look_at_ = SteadyTime::min();
};

}  // namespace distlock
