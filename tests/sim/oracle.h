#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "distlock/distributed_lock.h"
#include "sim/scheduler.h"
#include "sim/sim_clock.h"
#include "sim/stored_lock.h"

namespace distlock::sim {

/// The news of a loss that a holder got, and whether its process could run.
struct Told {
  int times = 0;
  std::function<bool()> could_have_been;
};

/// One process's belief that it holds a lock: from the moment it was told to the moment it gives
/// up or is gone.
struct Belief {
  std::string lock;
  std::string process;
  Token ts;
  Fence fence = 0;
  const DistributedLock* object = nullptr;
  const SimClock* clock = nullptr;
  const Told* told = nullptr;  // null if it asked for no news
  std::stop_token token;
  bool ended_on_the_way = false;  // in a pause of the call that claimed it
};

/// The process and the call that changed the store.
struct Doer {
  std::string_view process;  // ours; empty for outsiders: operators, others' programs, accidents
  std::string_view call;
};

/// Judges a run from outside, on true time: it sees what the store holds and what each process
/// believes, and uses none of the protocol's code. The first violation is kept.
///
/// A hold that an outsider touched (an operator, a program of the original, an accident) is excused
/// from then on: nobody promised anything about it.
class Oracle {
 public:
  explicit Oracle(const Scheduler& scheduler) : scheduler_(scheduler) {}

  // Changes of the store.
  void lock_changed(const Doer& by, const std::string& name, const StoredLock& before,
                    const StoredLock& after);
  /// A free lock was granted. `before`: its document until then. By the clock of its store, `now`
  /// is the time, and `read` what the store had read when it began the claim.
  void granted_from_free(const Doer& by, const Document& before, const Token& ts, StoreTime read,
                         StoreTime now);
  /// Unconfirmed writes were undone, so that this is what is stored now.
  void lock_rolled_back(const std::string& name, const StoredLock& now);
  /// `read_at`: when the store read its clock for it.
  void pinged(const std::string& process, Time read_at);
  void ping_removed(const Doer& by, const std::string& process, bool holds_something);
  /// Its round sent a ping at `sent` or later, on its own clock, and heard that it is durable.
  void heard_of_ping(const std::string& process, SteadyTime sent, Time call_limit);
  /// The store's clocks have been further from the truth than a contender tolerates.
  void clocks_beyond_tolerance() { margins_hold_ = false; }
  /// They run at one rate and are never stepped.
  void clocks_are_exact() { clocks_exact_ = true; }

  // Of a mirrored store. Each member has an oracle of its own, without beliefs.
  /// Calls back for each change of a lock.
  void on_change(std::function<void(const std::string& name, const StoredLock& after)> changed) {
    changed_ = std::move(changed);
  }
  /// Calls back for each change of a lock by an outsider.
  void on_touch(std::function<void(const std::string& name, const StoredLock& before,
                                   const StoredLock& after)>
                    touched) {
    touched_ = std::move(touched);
  }
  /// An outsider changed a lock, perhaps on a single member. Its hold is excused.
  void touched(const std::string& name, const StoredLock& before, const StoredLock& after);
  /// An outsider changed a lock on so few members that its hold must outlive it.
  void touched_in_vain() { forget_refusals(); }
  void excuse(const Token& ts) { excused_.insert(ts); }
  /// A minority of members may have that hold name another process, which may free it, or lack it.
  void names_another(const Token& ts) { named_another_.insert(ts); }
  /// Calls back for each release of a hold; it gives whether a member says that hold to be of the
  /// process which frees it.
  void on_release(
      std::function<bool(const Doer& by, const std::string& name, const Token& ts)> released) {
    released_ = std::move(released);
  }
  /// Whether that is what was claimed, unchanged, and its process was heard of that short ago.
  bool is_as_claimed(const StoredLock& lock, Time silent_at_most) const;
  /// Calls back for each hold that a process was told of.
  void on_grant(std::function<void(const Belief& belief)> granted) { grant_ = std::move(granted); }
  /// Of the whole. A lock may be busy there that nobody holds, by what is left on a minority.
  /// `ended`: whether no majority can carry that hold any more. `busy`: whether that lock was taken
  /// or malformed on any member, at some moment since then.
  void judge_a_mirrored_store(std::function<bool(const Belief& belief)> ended,
                              std::function<bool(const std::string& name, Time since)> busy) {
    mirrored_ = true;
    ended_for_all_ = std::move(ended);
    busy_on_a_member_ = std::move(busy);
  }
  bool was_busy(const std::string& name, Time since);
  /// Most members have freed that hold, or have a greater fence than it. So it may be taken over.
  void ended_for_good(const Token& ts) { ended_.insert(ts); }
  /// From now on nobody judges this member: it is another store.
  void stop_judging() { judging_ = false; }
  /// Such a member has that of a lock.
  void became(const std::string& name, const StoredLock& now);
  /// Some member granted that hold.
  void claim_of_member(const StoredLock& after) {
    claims_.try_emplace(*after.ts, Claimed{after.process, scheduler_.now(), after.takeover_after});
  }
  /// This is what a majority of the members carries; and what it does for a process that has not
  /// heard of returns that only a minority was told of.
  void majority_carries(const std::string& name, const StoredLock& now,
                        const StoredLock& for_uninformed);

  // Beliefs of processes, and the news that they get.
  void granted(const Belief& belief, Time asked);
  void gave_up(const Token& ts, Fence fence);
  void died(std::string_view process);
  /// The store's port told this process that its claim was refused. `refusal` is that of the moment
  /// at which the store refused it.
  void refused(const Token& ts, int refusal) {
    if (refusal == refusal_) refused_.insert(ts);
  }
  int refusal() const { return refusal_; }
  /// It claims again with that `ts`, as a ticket in line may.
  void claims_again(const Token& ts) { refused_.erase(ts); }
  struct Unlocked {
    UnlockResult result;
    bool in_time = false;  ///< The hold's deadline had not passed when the call returned.
  };
  void unlocked(const std::string& name, const Token& ts, Fence fence, const Unlocked& unlocked);
  /// A server freed this hold that is no primary any more.
  void release_undone(const Token& ts) { undone_.insert(ts); }
  void still_held_said(const Belief& belief, Time asked, bool answer);
  /// Nothing went wrong, and since then it has looked at least once.
  void waited_in_vain(const std::string& process, const std::string& name, Time since);
  void told_lost(const std::string& name, const Token& ts, LossReason reason);
  /// A majority has all that was written before that.
  void heard_of_durable_write(std::string_view process, Time sent);
  /// Its round asks the store for its holds, hears the answer, and cannot look at one of them.
  void asks_for_holds(std::string_view process);
  /// `listed_since`: the list has all that was written before that.
  void heard_of_holds(std::string_view process, Time listed_since = kNever);
  void could_not_look(std::string_view process, std::string_view name);
  /// A loser was shown `other`, having asked at `asked`.
  void shown(const std::string& name, const LockRecord& other, Time asked, bool fresh);

  /// A lock_try() that began at `asked` got nothing and no error.
  void said_busy(const std::string& process, const std::string& name, Time asked, bool fresh);

  /// After every step: no two valid holders, no deadline too late or too early.
  void check_now();
  /// Nothing has gone wrong for a while: what is taken is somebody's who knows it.
  void check_nothing_is_stray(const std::function<bool(const std::string& process)>& runs,
                              Time for_at_least);

  void violate(const std::string& what);
  const std::optional<std::string>& violation() const { return violation_; }

  bool valid(const Belief& belief) const;
  bool someone_believes(std::string_view process) const;
  bool someone_valid(const std::string& lock) const;
  /// By that `ts`; and by that fence, where the hold may have been passed on (R21).
  const Belief* belief_of(const Token& ts, std::optional<Fence> fence = std::nullopt) const;
  bool excused(const Token& ts) const { return excused_.contains(ts); }
  bool claimed_by(std::string_view process, const Token& ts) const {
    const auto claim = claims_.find(ts);
    return claim != claims_.end() && claim->second.process == process;
  }
  const StoredLock& now_stored(const std::string& name);
  bool something_taken_but(std::string_view name) const;

 private:
  void forget_refusals();
  struct Version {
    Time since;
    StoredLock lock;
  };
  void note(std::vector<Version>& versions, const StoredLock& lock) const;
  struct LockHistory {
    std::vector<Version> versions;
    std::vector<Version> versions_for_uninformed;
    Fence greatest_granted = 0;
  };

  void claim_took_effect(const Doer& by, const std::string& name, const StoredLock& before,
                         const StoredLock& after);
  bool is_repair(const StoredLock& before, const StoredLock& after) const;
  void check_takeover(const std::string& name, const StoredLock& before, const StoredLock& after);
  void check_rivals(const std::string& name, const StoredLock& after);
  static bool was_stored(const std::vector<Version>& versions, const Token& ts, Time since);
  void release_took_effect(const Doer& by, const std::string& name, const StoredLock& before);
  void check_pass(const Belief& belief);
  void check_pair(const Belief& one, const Belief& other);
  void check_margin(const Belief& belief);
  void check_lasts(const Belief& belief);
  Time true_deadline(const Belief& belief) const;
  bool gone(const Belief& belief);
  Time gone_since(const Belief& belief);
  LockHistory& history(const std::string& name);

  const Scheduler& scheduler_;
  std::function<void(const std::string& name, const StoredLock& after)> changed_;
  std::function<void(const std::string& name, const StoredLock& before, const StoredLock& after)>
      touched_;
  std::function<void(const Belief& belief)> grant_;
  std::function<bool(const Belief& belief)> ended_for_all_;
  std::function<bool(const std::string& name, Time since)> busy_on_a_member_;
  std::function<bool(const Doer& by, const std::string& name, const Token& ts)> released_;
  bool judging_ = true;
  bool mirrored_ = false;
  std::optional<std::string> violation_;
  bool margins_hold_ = true;
  bool clocks_exact_ = false;
  std::vector<Belief> beliefs_;
  std::map<std::string, LockHistory, std::less<>> locks_;
  struct Silence {
    Time ended;
    Time length;
  };
  struct Ping {
    Time stamped;  // the stored one
    // Each longer than all that came later.
    std::vector<Silence> silences;

    Time longest_silence_since(Time since) const;
  };
  std::unordered_map<std::string, Ping> pings_;
  struct Heard {
    SteadyTime sent;
    Time call_limit;
  };
  std::unordered_map<std::string, Heard> heard_;  // by process
  std::unordered_set<std::string> tampered_;      // processes whose ping an outsider touched
  struct Claimed {
    std::string process;
    Time when;
    Time takeover_after;
    // The fences of the claim; those of its holders grow. When the first of them was told, and when
    // the last gave it up so far.
    Fence first_fence = 0;
    Fence last_fence = 0;
    Time first_told{0};
    Time given_up{0};
  };
  std::unordered_map<Token, Claimed, TokenHash> claims_;
  std::unordered_map<Token, Time, TokenHash> given_up_;  // when
  std::unordered_set<Token, TokenHash> named_another_;
  std::unordered_set<Token, TokenHash> refused_;
  int refusal_ = 0;  // How many times they were forgotten.
  std::unordered_set<Token, TokenHash> ended_;
  std::unordered_set<Token, TokenHash> excused_;
  std::unordered_set<Token, TokenHash> undone_;  // their quick releases were lost
  struct Looking {
    Time durable{0};                      // all from before that
    std::map<Token, Time> asked_without;  // holds that were gone when it asked, and since when
    std::map<Token, Time> heard_without;
    std::map<Token, Time> seen_gone;  // when it asked for the first time, on a mirrored store
  };
  std::map<std::string, Looking, std::less<>> looking_;  // by process
};

}  // namespace distlock::sim
