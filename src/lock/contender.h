#pragma once

#include <boost/thread/mutex.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "limit.h"
#include "lock/claim_sender.h"
#include "lock/deadlock_watch.h"
#include "lock/refusal_log.h"
#include "lock/releaser.h"
#include "lock/turn_of_line.h"
#include "lock/wait_teller.h"
#include "pinger/holds.h"
#include "pinger/lobby.h"
#include "pinger/session.h"
#include "protocol/protocol.h"

// The wing src/lock/: one lock object, from its first look at the store to its release. It asks
// protocol/ for each decision, and leaves to pinger/ what goes on between the calls of a program:
// pings, deadlines, announcements, pending releases.
namespace distlock {

/// The result of one claim. `failure`: why it got nothing, unless another contender was just
/// quicker. `ts`: of the claim, if one was sent. It may stay in the document after it was undone.
struct ClaimResult {
  bool held = false;
  std::optional<Error> failure;
  std::optional<Token> ts;
};

/// The purpose of one wait, and how long it may last.
struct WaitRequest {
  SteadyTime begun;
  SteadyTime deadline;
  std::stop_token stop;
  std::string_view why;
  LockRecord* other = nullptr;
  WaitTeller* teller = nullptr;
  bool for_ever = false;   ///< No deadline was given.
  bool* warned = nullptr;  ///< That it may never end (R22).

  Limit limit() const { return {deadline, stop}; }
  /// Begins now. Of a wait with a deadline it never looks.
  DeadlockWatch deadlock_watch(const LockOptions& options, Session& session) const {
    return {session.overviews, for_ever ? options.deadlock_after : std::chrono::milliseconds{0},
            session.environment.clock->steady_now(), session.environment.process, *warned};
  }
};

/// One lock object that contends for its lock. Its phase says which thread may touch what:
///
///   phase      entered by                  left by                who has the object
///   idle       the end of the others       begin_acquiring()      nobody
///   acquiring  begin_acquiring(), _anew(); keep(), holding;       the acquiring thread; after
///              inherit()                   end_acquiring(), idle  inherit() that of the place
///   holding    keep()                      unlock(), releasing;   the thread that got it
///                                          reclaim(), acquiring
///   releasing  unlock()                    its end, idle;         the releasing thread
///                                          inherit(), acquiring
///
/// Only the thread that enters a phase leaves it, but any thread may unlock or reclaim a hold. And
/// inherit() enters *acquiring* for the thread that a hold is passed on to (R21). The store is
/// called in the phases acquiring and releasing, without the mutex.
///
/// Mutexes: a thread with this mutex takes no other. It may be taken with that of the lobby's
/// queues. See Holds for those of the pinger.
class DistributedLock::Contender : public Heir {
 public:
  Contender(std::shared_ptr<DistributedLockPinger> given_pinger,
            std::shared_ptr<Session> given_session, std::string given_name,
            const LockOptions& given_options);

  /// A ticket, and when the last request with it was sent.
  using Ticket = std::pair<Token, SteadyTime>;
  enum class Phase { idle, acquiring, holding, releasing };

  /// Enters `acquiring`. False if another thread is at it or holds; `*other` is then what it has.
  /// Errors: `already_held`.
  bool begin_acquiring(LockRecord* other);
  /// As above, but only from this object's own last hold, for reclaim().
  /// Errors: `lock_lost` if there is none.
  void begin_acquiring_anew();
  void end_acquiring() noexcept;
  void ring_if_awaited() noexcept;
  void leave_late_grant_pending() noexcept;

  /// As DistributedLock::lock_try(), but gives up (false) when `until` is over.
  bool lock_try(std::string_view why, LockRecord* other, const Limit& until);
  /// A wait of no time.
  bool try_unless_stopped(std::string_view why, LockRecord* other, const std::stop_token& stop);
  /// lock_try() again and again (R15).
  bool wait_polling(const WaitRequest& request);
  /// Waits in the line of the lock (R17). Errors: those of lock_try().
  bool wait_in_line(const WaitRequest& request);
  WaitTeller teller_of_a_wait() const;
  /// How long a wait goes on while the store fails at every look.
  std::chrono::milliseconds patience() const;
  /// One hold by name, for an unlock that must end no other. Without a fence it is told from
  /// another of the same `ts` by its thread.
  struct Named {
    Token ts;
    std::optional<Fence> fence;
  };
  UnlockResult unlock(const std::optional<Named>& only) noexcept;
  /// Keeps the hold that was passed on to this place, if one was. `unsettled` is set if it came too
  /// late, and could not be given back. `until`: of the wait.
  bool accept(Lobby::Place& place, const Limit& until, bool& unsettled);

  // In the phase acquiring.

  /// Whether the call that is under way may begin no call of the store any more.
  bool out_of_time() const { return limit.over(*session->environment.clock); }
  /// After a refused claim from that hold. Throws `not_applied` if the document carries it still.
  void check_gone(const Token& old) const;
  /// Claims from what is known without looking: one's own hold that ran out, or one's own release.
  ClaimResult claim_remembered(std::string_view why, Fence fences = 1);
  /// Inspects and judges, freshly before a takeover (R6).
  protocol::Judgement judge_now(TimedInspection& look);
  /// Takes the granted claim, makes it the hold, and leaves the phase. False where its deadline has
  /// passed (R9): then it is to be given back, or claimed anew. `again` is the ticket that got it,
  /// if an earlier request with it may still arrive. `fences`: so many were claimed; the first is
  /// for this thread.
  bool keep(LockRecord& record, Fence fences = 1,
            const std::optional<Ticket>& again = std::nullopt);
  /// False where the store has not answered: then the pinger does it.
  bool give_back(const LockRecord& record) noexcept;
  /// The result of `ask`. Its errors speak of all its requests.
  template <class Ask>
  bool with_errors_of_all(const Ask& ask);
  /// That error, where an earlier request of the same call has no certain answer.
  static Error of_all(const Error& error);
  /// Counts as this object's own hold that ran out, to be claimed anew from itself, or given up.
  void remember_late_grant(LockRecord record);
  /// How many fences a claim takes that is made in a wait now (R21). One for all with one ticket.
  Fence fences_for(const Lobby::Place& place) const;
  /// To claim from `basis` what is known by this record.
  static ClaimFrom remember(const ClaimBasis& basis, const LockRecord& record);
  /// A hold that ran out becomes a pending release.
  void give_up_old_hold();

  const std::shared_ptr<DistributedLockPinger> pinger;
  const std::shared_ptr<Session> session;
  const LockOptions options;
  const std::shared_ptr<Hold> hold;
  const std::string& name;  // the hold's

  // Outside of the phases: each may be called by any thread.
  RefusalLog refusals;
  ClaimSender claims;
  Releaser releaser;

  // Guarded by `mutex`.
  mutable boost::mutex mutex;
  Phase phase = Phase::idle;
  std::uint64_t holder = 0;  // the holding thread's number
  std::chrono::milliseconds until_takeover{0};
  std::shared_ptr<const WaitTeller::Callback> on_waiting;
  // Written with the mutex by the thread that has the object, which reads it without.
  std::optional<LockRecord> claimed;
  // Of the hold: until when it may be passed on, and the last fence of its claim (R21).
  SteadyTime pass_until = SteadyTime::min();
  Fence last_fence = 0;
  /// The last hold that this object has passed on. It may come back to it.
  Token passed;

  // Of the thread that has the object, in the phases acquiring and releasing.
  std::optional<ClaimFrom> remembered;
  // Of the acquiring thread; none while holding. By member, where the store has any.
  std::map<Token, protocol::HolderWatch> watches;
  TurnOfLine turn_of_line;
  Limit limit;
  /// The ticket of a hold for which an earlier request may still arrive, and when the last was
  /// sent.
  std::optional<Ticket> late_grant;

 private:
  /// `tried`: the claim before, if one was sent.
  bool look_and_claim(std::string_view why, LockRecord* other, ClaimResult tried);
  /// Whether somebody else has the lock, or comes first to it.
  bool is_of_another(const protocol::Judgement& judgement, const Inspection& seen);
  bool line_comes_first(const protocol::Judgement& dead, const Inspection& seen);
  /// Pings if it must, sends one claim, and keeps what the store grants (R2, R7, R9).
  ClaimResult claim(const ClaimFrom& from, std::string_view why, Fence fences);
  bool keep_until(LockRecord& record, Fence last, SteadyTime until,
                  const std::optional<Ticket>& again);
  bool is_named(const Named& one) const;
  /// Passes the hold on that this thread gives up, to a thread of the process that waits for it.
  /// False if there is none, or it must not be: then nothing is changed (R21).
  bool pass_on(LockRecord& record) noexcept;
  bool may_pass_on(const LockRecord& record, SteadyTime now) const;
  /// With the mutex of the queues. True: this object is at *acquiring*, for the thread in whose
  /// place it is. Errors: those of Holds::enlist().
  bool inherit(Contender& from, const Token& ts, SteadyTime now);
  bool fits(const Contender& from) const;
  void leave_to(const Contender& to, const Token& ts) noexcept;
  /// Gives such a hold back, where the wait ends otherwise. False: that is still to come.
  bool relinquish(Lobby::Place& place, const Limit& until) noexcept;
  protocol::Judgement judge(const TimedInspection& look);
  protocol::Judgement judge_one(const Inspection& seen, const LocalSpan& span);
  ClaimFrom claim_from(const TimedInspection& look, protocol::Verdict verdict);
  void lose_overdue_hold();
  /// In the store's line, once begin_acquiring() is done.
  bool wait_standing(Lobby::Place& place, const WaitRequest& request);
  /// When a wait is to look again; its deadline if no look fits in before.
  SteadyTime next_look(int round, SteadyTime deadline) const;
};

using Contender = DistributedLock::Contender;

template <class Ask>
bool Contender::with_errors_of_all(const Ask& ask) {
  claims.begin_call();
  try {
    return ask();
  } catch (const Error& error) {
    if (!claims.unsettled()) throw;
    throw of_all(error);
  }
}

/// Leaves the phase acquiring, whichever way a call is left.
struct AcquiringPhase {
  ~AcquiringPhase() {
    if (held) return;
    contender.end_acquiring();
    contender.ring_if_awaited();
  }
  Contender& contender;
  bool held = false;
};

}  // namespace distlock
