#include "pinger/chores.h"

#include <algorithm>
#include <map>
#include <utility>

#include "carries.h"
#include "distlock/members.h"
#include "failure.h"
#include "log.h"
#include "pinger/known_tokens.h"
#include "pinger/member_repairs.h"
#include "protocol/protocol.h"

namespace distlock {

const decltype(Chores::kInTurn) Chores::kInTurn{
    Chore{"verifying holds", &Chores::verify_holds},
    Chore{"repairing holds", &Chores::repair_holds},
    Chore{"working off pending releases", &Chores::release_pending},
    Chore{"removing old pings", &Chores::forget_old_pings},
    Chore{"mending members", &Chores::mend_members}};

Chores::Chores(const Environment& environment, const PingerOptions& options, Holds& holds,
               PendingReleases& pending, Ringer& ringer)
    : environment_(environment),
      options_(options),
      holds_(holds),
      pending_(pending),
      ringer_(ringer),
      repairs_(environment, options, holds, pending),
      forget_next_(environment.clock->steady_now()) {}

void Chores::work_off(SteadyTime begun, SteadyTime next_ping,
                      const std::stop_token& stop) noexcept {
  if (busy_.exchange(true)) return;
  // Two calls are allowed for in any case, the ping and one of a chore; quick ones leave time.
  const std::chrono::nanoseconds call_limit = environment_.store->call_limit();
  ChoreTime time(*environment_.clock, std::max(next_ping - call_limit, begun + call_limit), stop);
  work_in_turn(time);
  busy_ = false;
}

// The next round begins with the chore that had no time for a single call.
void Chores::work_in_turn(ChoreTime& time) noexcept {
  for (std::size_t i = 0; i < kInTurn.size(); ++i) {
    const Chore& chore = kInTurn[next_];
    const int calls_before = time.calls();
    attempt(chore.what, [&] { (this->*chore.work)(time); });
    const bool had_none = time.over() && time.calls() == calls_before;
    if (!had_none) next_ = (next_ + 1) % kInTurn.size();
    if (time.over()) return;
  }
  next_ = 0;
}

void Chores::tell_failure(const char* what) noexcept {
  log::chore_failed(what, current_failure().what);
}

void Chores::verify_holds(ChoreTime& time) {
  look_at_listed(time);
  if (!time.for_a_call()) return;
  list_holds();
  look_at_listed(time);
}

// Each by itself: a lock that cannot be read says nothing of the next (R14).
void Chores::look_at_listed(ChoreTime& time) {
  while (!missing_.empty() && time.for_a_call()) {
    const ActiveHold hold = std::move(missing_.front());
    missing_.pop_front();
    attempt("verifying a hold", [&] { lose_if_gone(hold); });
  }
  while (!lacked_.empty() && time.for_a_call()) {
    const ActiveHold hold = std::move(lacked_.front());
    lacked_.pop_front();
    attempt("looking at the members of a hold", [&] { count_carriers_only(hold); });
  }
}

void Chores::list_holds() {
  const std::vector<ActiveHold> active = holds_.active();
  const std::vector<StoredHold> list = environment_.store->holds(environment_.process);
  // After the list: whatever was being claimed meanwhile is known by now.
  const KnownTokens known(holds_, pending_);
  std::vector<StoredHold> unknown;
  std::map<std::pair<std::string, Token>, const StoredHold*> stored;
  for (const StoredHold& hold : list) {
    stored[{hold.name, hold.ts}] = &hold;
    if (!known.contains(hold.ts)) unknown.push_back(hold);
  }
  of_nobody_.keep(list);
  keep_strays(std::move(unknown));
  const SteadyTime now = environment_.clock->steady_now();
  for (const ActiveHold& hold : active) {
    const auto found = stored.find({hold.hold->name, hold.ts});
    const StoredHold* const there = found == stored.end() ? nullptr : found->second;
    if (there == nullptr || !there->by_majority) missing_.push_back(hold);
    // A hold on no member is on members that name another process, or is gone.
    const bool lacks = there == nullptr ? environment_.store->members() != nullptr
                                        : holds_.counts_on(hold, there->lacking, now);
    if (lacks) lacked_.push_back(hold);
  }
}

// Those that wait for a look already come first, in their order, but for those that are gone.
void Chores::keep_strays(std::vector<StoredHold> unknown) {
  std::map<std::pair<std::string, Token>, std::size_t> turns;
  for (const StoredHold& hold : strays_) turns.try_emplace({hold.name, hold.ts}, turns.size());
  const auto turn_of = [&](const StoredHold& hold) {
    const auto waiting = turns.find({hold.name, hold.ts});
    return waiting == turns.end() ? turns.size() : waiting->second;
  };
  std::stable_sort(unknown.begin(), unknown.end(),
                   [&](const StoredHold& one, const StoredHold& other) {
                     return turn_of(one) < turn_of(other);
                   });
  strays_.assign(unknown.begin(), unknown.end());
}

// The list may come from a primary that is none any more. A fresh read cannot.
void Chores::lose_if_gone(const ActiveHold& hold) {
  if (const auto reason = fate_of(hold.hold->name, hold.ts)) holds_.lose(hold, *reason);
}

// A member that does not carry the hold any more is a rival's at any moment (M5). So is one that
// names another process, whose pings count there then, and one that is left out: it counts for no
// hold with a lesser fence. As above, a list may be out of date.
void Chores::count_carriers_only(const ActiveHold& hold) {
  const Inspection seen = environment_.store->inspect(hold.hold->name, Freshness::fresh);
  std::vector<Token> lacking = seen.left_out;
  for (const Inspection& member : seen.members) {
    if (!carries_of(environment_.process, member, hold.ts)) lacking.push_back(member.member);
  }
  holds_.unprotect(hold, lacking);
}

void Chores::look_at_strays(ChoreTime& time) {
  while (!strays_.empty() && time.for_a_call()) {
    const StoredHold hold = std::move(strays_.front());
    strays_.pop_front();
    attempt("looking at a stray hold", [&] { adopt_if_stray(hold); });
  }
}

// The last net under R8: whatever became of a claim that was given up, its hold shows here.
void Chores::adopt_if_stray(const StoredHold& hold) {
  // An unlock may have ended while the list was on its way: then the hold is no stray. A hold on a
  // minority of a mirrored store is left over: a release or an undo missed a member (M2).
  if (hold.by_majority && fate_of(hold.name, hold.ts)) return;
  if (!hold.by_majority && may_be_counted_on(hold)) return;
  if (!pending_.frees(hold.ts)) adopt(hold);
}

bool Chores::may_be_counted_on(const StoredHold& hold) {
  if (holds_.gave_up(hold.ts)) return false;
  const Inspection seen = environment_.store->inspect(hold.name, Freshness::fresh);
  const Whose of = whose(environment_, seen.members, hold.ts);
  if (of == Whose::nobodys)
    return !of_nobody_.is_over(seen.members, hold.ts, environment_.clock->steady_now());
  of_nobody_.forget(hold.ts);
  return of == Whose::perhaps_anothers;
}

void Chores::adopt(const StoredHold& hold) {
  log::stray_hold(hold.name);
  pending_.add(hold.name, hold.ts);
}

std::optional<LossReason> Chores::fate_of(const std::string& name, const Token& ts) const {
  return protocol::fate(name, ts, environment_.store->carried(name));
}

// Each by itself, as they are verified.
void Chores::repair_holds(ChoreTime& time) {
  for (bool due = repairs_.due(); due && time.for_a_call(); due = repairs_.more()) {
    attempt("repairing a hold", [&] { repairs_.do_next(time); });
  }
}

// Strays become pending releases, and share their turn: so they hold up no list. Where they left no
// time for a single release, releases come first in the next turn.
void Chores::release_pending(ChoreTime& time) {
  const int calls_before = time.calls();
  const bool strays_first = !pending_first_;
  if (strays_first) look_at_strays(time);
  const int calls_of_strays = time.calls();
  pending_.work_off(environment_, ringer_, time);
  const bool none_released = time.over() && time.calls() == calls_of_strays;
  if (!strays_first) look_at_strays(time);
  if (!time.over() || time.calls() > calls_before) pending_first_ = none_released;
}

void Chores::forget_old_pings(ChoreTime& time) {
  const SteadyTime now = environment_.clock->steady_now();
  const auto pause = protocol::forget_pause(environment_.random(), options_);
  if (now < forget_next_ || !time.for_a_call()) return;
  forget_next_ = now + pause;
  log::forgot_pings(environment_.store->forget_pings(options_.forget_after));
}

void Chores::mend_members(ChoreTime& time) {
  Members* const members = environment_.store->members();
  if (members != nullptr && members->incomplete() && time.for_a_call()) members->mend();
}

}  // namespace distlock
