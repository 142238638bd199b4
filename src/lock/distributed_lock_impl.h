#pragma once

#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>
#include <memory>
#include <optional>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "limit.h"
#include "pinger/holds.h"
#include "pinger/lobby.h"
#include "pinger/pinger_impl.h"
#include "protocol/protocol.h"

namespace distlock {

/// What came of one claim. `failure`: why it got nothing, unless another was just quicker.
struct Tried {
  bool held = false;
  std::optional<Error> failure;
};

/// What one wait is for, and how long it may last.
struct WaitRequest {
  SteadyTime deadline;
  std::stop_token stop;
  std::string_view why;
  LockRecord* other = nullptr;
};

/// One contender. `phase` says who may touch what: the thread that claims or releases has the
/// object to itself without holding the mutex across the store.
struct DistributedLock::Impl {
  Impl(std::shared_ptr<DistributedLockPinger> given_pinger,
       std::shared_ptr<DistributedLockPinger::Impl> given_pinging, std::string given_name,
       const LockOptions& given_options);

  /// While somebody waits, the log says the same thing once.
  class Waiting {
   public:
    explicit Waiting(Impl& lock) : lock_(lock) { lock_.set_waiting(true); }
    ~Waiting() { lock_.set_waiting(false); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Impl& lock_;
  };
  void set_waiting(bool now);
  bool said_already(protocol::Reason reason);

  enum class Phase { idle, claiming, holding, releasing };

  /// Enters `claiming`. False if another thread is at it or holds; `*other` is then what it has.
  /// Errors: `already_held`.
  bool begin_claiming(LockRecord* other);
  /// As above, but from the own last hold only (reclaim). Errors: `lock_lost` if there is none.
  void begin_reclaiming();
  void claim_anew_from_lost();
  void end_claiming() noexcept;

  /// As DistributedLock::lock_try(), and gives up, false, where `until` is over.
  bool lock_try(std::string_view why, LockRecord* other, const Limit& until);
  /// Waits in the line of the lock (R17). Errors: those of lock_try().
  bool wait_in_line(const WaitRequest& request);
  bool wait_for_this_object(Lobby::Place& place, const WaitRequest& request);
  bool held_by_this_thread() const;
  /// What ran out becomes a pending release.
  void give_up_old_hold();
  /// How long a wait goes on while the store fails at every look.
  std::chrono::milliseconds patience() const;

  bool look_and_claim(std::string_view why, LockRecord* other);
  /// Whether the call that is under way may begin no call of the store any more.
  bool out_of_time() const { return limit.over(*pinging->environment.clock); }
  /// Claims from what is known without looking: one's own hold that ran out, or one's own release.
  Tried claim_remembered(std::string_view why);
  /// Inspects and judges, freshly before a takeover (R6).
  protocol::Judgement judge_now(Look& look);
  void log_judgement(const Inspection& seen, const protocol::Judgement& judgement);
  /// After the last round: throws unless another held the lock at some moment meanwhile (R2).
  void check_busy(const Tried& last, const Inspection& before, const Inspection& after) const;
  void log_lost_claim(const Inspection& seen, const protocol::Judgement& judgement) const;
  /// R2, R8.
  Tried claim(const ClaimBasis& basis, std::string_view why);
  /// `failure`: set where the outcome was unknown and turned out to be that nothing is held.
  std::optional<LockRecord> send_claim(const ClaimBasis& basis, const Claim& claim,
                                       std::optional<Error>& failure);
  /// Finds out what came of a claim whose reply was lost (R8). Errors: `outcome_unknown`.
  std::optional<LockRecord> resolve(const Claim& claim, SteadyTime sent, const Error& unknown);
  std::optional<std::optional<LockRecord>> read_back(const Claim& claim);
  void leave_pending(const Token& ts, SteadyTime sent) noexcept;
  bool keep(LockRecord record, SteadyTime ping_sent);

  /// `only`: that hold and no other.
  UnlockResult unlock(const std::optional<Token>& only) noexcept;
  UnlockResult release(const LockRecord& record, SteadyTime valid_until) noexcept;
  UnlockResult released(ReleaseResult result, bool perhaps_freed, SteadyTime valid_until) const;

  bool wait_until(SteadyTime deadline, const std::stop_token& stop, std::string_view why,
                  LockRecord* other);
  /// When a wait is to look again, and its deadline where no look fits in before it.
  SteadyTime next_look(int round, SteadyTime deadline) const;

  const std::shared_ptr<DistributedLockPinger> pinger;
  const std::shared_ptr<DistributedLockPinger::Impl> pinging;
  const LockOptions options;
  const std::shared_ptr<Hold> hold;
  const std::string& name;  // the hold's

  mutable boost::mutex mutex;
  Phase phase = Phase::idle;
  std::uint64_t holder = 0;  // the thread's number
  std::optional<LockRecord> claimed;
  std::optional<ClaimBasis> remembered;
  std::unique_ptr<protocol::HolderWatch> watch;  // of whoever is claiming; none while holding
  Limit limit;                                   // likewise
  /// The ticket of a hold for which an earlier request may still arrive, and when the last was
  /// sent.
  std::optional<std::pair<Token, SteadyTime>> granted_once_more;
  std::chrono::milliseconds until_takeover{0};
  int waiting = 0;
  std::optional<protocol::Reason> logged;
};

/// Whatever ends a claim: unless it is certainly held or certainly refused, it is freed later (R8).
struct PendingUnlessCertain {
  ~PendingUnlessCertain() {
    if (!certain) lock.leave_pending(ts, sent);
  }
  DistributedLock::Impl& lock;
  Token ts;
  SteadyTime sent;
  bool certain = false;
};

/// Leaves the claiming phase, whichever way lock_try() is left.
struct DistributedLock::Claiming {
  ~Claiming() {
    if (!held) impl.end_claiming();
  }
  Impl& impl;
  bool held = false;
};

}  // namespace distlock
