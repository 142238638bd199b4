#include "lock/contender.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/lock_types.hpp>
#include <tuple>

#include "lock/busy_check.h"
#include "log.h"
#include "pinger/identity.h"
#include "protocol/deadlock.h"
#include "protocol/member_judgements.h"
#include "text.h"
#include "thread_number.h"

// The phases of a lock object, and one attempt to get its lock (R2, R6, R7, R9).
namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;
using protocol::Judgement;
using protocol::Verdict;
using std::chrono::nanoseconds;

ClaimBasis basis_of(const Inspection& seen, Verdict verdict) {
  if (verdict == Verdict::absent) return FromAbsent{};
  if (verdict == Verdict::free) return FromFree{seen.lock->ts};
  return FromHold{*seen.lock->ts, seen.lock->when};
}

// The options, once it is sure that a lock can be made with them.
LockOptions checked(const LockOptions& options, std::string_view name, const Session& session) {
  session.fork_guard.check("the pinger");
  protocol::check_name(name);
  protocol::check_options(options);
  protocol::check_room(options, session.options, session.environment.store->call_limit());
  return options;
}

Error came_too_late(const std::string& name, bool given_back) {
  const std::string text = "lock \"" + escaped(name) +
                           "\": the store granted a claim so late that its deadline had passed; ";
  if (given_back) return {Errc::not_applied, text + "it was given back"};
  return {Errc::outcome_unknown, text + "it will be given back, and until then"};
}

// Every store refuses such a claim, and nobody would hear why (R10). A fence that members which are
// away will judge may grow once they are back (M3).
void check_fence_can_grow(const Inspection& seen, const std::string& name) {
  if (!seen.fence_in_doubt.empty()) {
    throw Error(Errc::not_applied, "lock \"" + escaped(name) + "\": " + seen.fence_in_doubt);
  }
  const Fence fence = std::max(seen.fence, seen.lock ? seen.lock->fence : 0);
  if (fence < kFenceLimit - 1) return;
  throw Error(Errc::bad_record, "lock \"" + escaped(name) + "\": its fence is " +
                                    std::to_string(fence) +
                                    ", and cannot grow; nothing was changed");
}

}  // namespace

Contender::Contender(std::shared_ptr<DistributedLockPinger> given_pinger,
                     std::shared_ptr<Session> given_session, std::string given_name,
                     const LockOptions& given_options)
    : pinger(std::move(given_pinger)),
      session(std::move(given_session)),
      options(checked(given_options, given_name, *session)),
      hold(std::make_shared<Hold>(
          std::move(given_name),
          protocol::validity(options, session->environment.store->call_limit()))),
      name(hold->name),
      claims(*session, name, options),
      releaser(*session, name, options) {}

bool Contender::lock_try(std::string_view why, LockRecord* other, const Limit& until) {
  const log::OfStore of_store(*session->environment.store);
  protocol::check_why(why);
  session->check_usable();
  if (!begin_acquiring(other)) return false;
  AcquiringPhase acquiring{*this};
  limit = until;
  acquiring.held = with_errors_of_all([&] {
    const ClaimResult first = claim_remembered(why);
    return first.held || look_and_claim(why, other, first);
  });
  // A thread behind this object sleeps until the deadline of its hold at most.
  if (acquiring.held) ring_if_awaited();
  return acquiring.held;
}

bool Contender::look_and_claim(std::string_view why, LockRecord* other, ClaimResult tried) {
  TimedInspection look;
  std::vector<Token> own;
  if (tried.ts) own.push_back(*tried.ts);
  bool looked = false;
  bool seen_taken = false;
  for (int round = 0; !out_of_time(); ++round) {
    const Inspection before = look.seen;
    const Judgement judgement = judge_now(look);
    looked = true;
    seen_taken = is_of_another(judgement, look.seen);
    if (seen_taken) check_not_own(name, look.seen, own, session->environment.store->members());
    if (seen_taken) break;
    if (round == protocol::kClaimRoundsMax) {
      if (tried.failure) throw Error(*tried.failure);
      check_busy(name, before, look.seen, own);
      break;
    }
    if (out_of_time()) break;
    check_fence_can_grow(look.seen, name);
    if (judgement.verdict == Verdict::dead) refusals.judged(look.seen, judgement);
    // An absent document tells no time, and a fail-over may have changed the clock of the cutoff.
    if (judgement.verdict == Verdict::absent && round > 0) session->ping_unless_stopped(limit);
    ClaimResult next = claim(claim_from(look, judgement.verdict), why, 1);
    if (next.held) return true;
    if (next.ts) own.push_back(*next.ts);
    // A claim that was not sent takes the place of none.
    if (next.ts) tried = std::move(next);
    if (out_of_time()) break;
    refusals.claim_refused(look.seen, judgement, name);
  }
  // Otherwise it is not known that another has it.
  if (tried.failure && !seen_taken && !limit.stop.stop_requested()) throw Error(*tried.failure);
  if (other != nullptr && looked) *other = look.seen.lock.value_or(LockRecord{.name = name});
  return false;
}

bool Contender::is_of_another(const Judgement& judgement, const Inspection& seen) {
  if (judgement.verdict != Verdict::dead) return judgement.verdict == Verdict::busy;
  return session->environment.store->line() != nullptr && line_comes_first(judgement, seen);
}

// Where the kernel saw the holder die, those in line may have died with it.
bool Contender::line_comes_first(const Judgement& dead, const Inspection& seen) {
  const SteadyTime now = session->environment.clock->steady_now();
  const auto left = turn_of_line.left(dead, seen, protocol::window(*seen.lock, options), now);
  if (left <= nanoseconds{0} || out_of_time()) return left > nanoseconds{0};
  if (dead.reason == protocol::Reason::ended) {
    const Listing all = session->environment.store->line()->list_waits({name});
    if (!somebody_lives(seen.lock->line, all.pings)) return false;
  }
  const Guard lock(mutex);
  until_takeover = std::chrono::ceil<std::chrono::milliseconds>(left);
  return true;
}

ClaimResult Contender::claim(const ClaimFrom& from, std::string_view why, Fence fences) {
  const Token ts = new_token(session->environment);
  session->holds.enlist(hold, ts);
  if (!session->ensure_pinged(hold->validity_span, limit, from.bases) || out_of_time()) return {};
  session->begin_claim(*hold);
  auto [record, failure] = claims.send(from, claims.claim_with(ts, why, fences), limit);
  if (!record) return {false, failure, ts};
  // Any thread may use this object from here on.
  const auto [pings, granted, until] = std::tuple(session, hold, limit);
  if (!keep(*record, fences)) return {false, came_too_late(name, give_back(*record)), ts};
  pings->ping_if_short(*granted, until);
  return {true, std::nullopt, ts};
}

Judgement Contender::judge_now(TimedInspection& look) {
  const auto judged = [&](Freshness freshness) {
    look = session->look(name, freshness);
    return judge(look);
  };
  Judgement judgement = judged(Freshness::ordinary);
  const bool stray = look.seen.lock && session->free_if_stray(look.seen, limit);
  if (stray && !out_of_time()) judgement = judged(Freshness::ordinary);
  const bool doubtful = judgement.verdict == Verdict::dead && !look.seen.fresh;
  if (doubtful && !out_of_time()) judgement = judged(Freshness::fresh);
  // A takeover is told when it begins, as those in line may come first.
  const bool takes_over = judgement.verdict == Verdict::dead;
  if (look.seen.lock && !takes_over) refusals.judged(look.seen, judgement);
  const Guard lock(mutex);
  until_takeover = judgement.until_takeover;
  return judgement;
}

Judgement Contender::judge_one(const Inspection& seen, const LocalSpan& span) {
  const bool stepped = session->clock_stepped(seen, options);
  return protocol::judge(seen, span, stepped, options, watches[seen.member]);
}

Judgement Contender::judge(const TimedInspection& look) {
  Members* const members = session->environment.store->members();
  if (members == nullptr) return judge_one(look.seen, look.span);
  std::vector<Judgement> each;
  for (const Inspection& one : look.seen.members) each.push_back(judge_one(one, look.span));
  return protocol::judge_members(each, members->majority());
}

// On a mirrored store, claims every member that is free, or whose holder is certainly dead.
ClaimFrom Contender::claim_from(const TimedInspection& look, Verdict verdict) {
  if (session->environment.store->members() == nullptr) return {basis_of(look.seen, verdict)};
  ClaimFrom from{.fence = look.seen.fence + 1};
  for (const Inspection& one : look.seen.members) {
    const Verdict of_one = judge_one(one, look.span).verdict;
    if (of_one == Verdict::busy || (of_one == Verdict::dead && !one.fresh)) continue;
    from.bases.push_back({one.member, basis_of(one, of_one)});
  }
  return from;
}

bool Contender::begin_acquiring(LockRecord* other) {
  const SteadyTime now = session->environment.clock->steady_now();
  boost::unique_lock<boost::mutex> lock(mutex);
  if (phase == Phase::idle) {
    phase = Phase::acquiring;
    return true;
  }
  const bool by_us = phase == Phase::holding && holder == this_thread_number();
  if (by_us && hold->validity.over(now)) {
    phase = Phase::acquiring;
    lock.unlock();
    lose_overdue_hold();
    return true;
  }
  if (by_us) {
    throw Error(Errc::already_held,
                "lock \"" + escaped(name) + "\" is already held by this thread: unlock() it first");
  }
  if (other != nullptr) {
    *other = claimed.value_or(LockRecord{
        .name = name, .state = LockState::taken, .process = session->environment.process});
  }
  return false;
}

void Contender::end_acquiring() noexcept {
  // Other threads may have had the mutexes at the fork, and will never let go of them here.
  if (session->fork_guard.in_child()) return;
  // Our pings go on, so nobody could take over what we no longer count as held.
  if (claimed) session->pending.add(name, *claimed->ts);
  leave_late_grant_pending();
  session->free_if_stopped(name, limit);
  session->holds.delist(hold);
  const Guard lock(mutex);
  claimed.reset();
  phase = Phase::idle;
}

void Contender::ring_if_awaited() noexcept {
  if (!session->fork_guard.in_child() && refusals.somebody_waits()) session->lobby.ring(name);
}

void Contender::leave_late_grant_pending() noexcept {
  if (const auto again = std::exchange(late_grant, std::nullopt)) {
    claims.leave_ticket_pending(again->first, again->second);
  }
}

bool Contender::keep(LockRecord& record, Fence fences, const std::optional<Ticket>& again) {
  const Fence last = record.fence;
  record.fence -= fences - 1;
  const SteadyTime now = session->environment.clock->steady_now();
  const SteadyTime until =
      fences > 1 ? now + nanoseconds{protocol::kPassingMost} : SteadyTime::min();
  return keep_until(record, last, until, again);
}

bool Contender::give_back(const LockRecord& record) noexcept {
  const auto released = releaser.release(*record.ts, SteadyTime::min());
  if (released.result != UnlockResult::pending) return true;
  claims.note_unsettled();
  return false;
}

Error Contender::of_all(const Error& error) {
  if (error.errc() != Errc::not_applied) return error;
  return {Errc::outcome_unknown, error.what() + std::string("; of an earlier request")};
}

bool Contender::keep_until(LockRecord& record, Fence last, SteadyTime until,
                           const std::optional<Ticket>& again) {
  const SteadyTime now = session->environment.clock->steady_now();
  const bool of_a_block = deadlock::may_be_passed_on(record.who);
  session->holds.note_terms(*hold, {last, options.takeover_after});
  if (!session->holds.begin(*hold, *record.ts, record.members, now, of_a_block)) {
    log::claim_came_too_late(name);
    session->lobby.set_passing(name, SteadyTime::min());
    return false;
  }
  watches.clear();
  leave_late_grant_pending();  // Of the hold before, where this one was claimed from it.
  log::acquired(record);
  session->lobby.set_passing(name, record.fence < last ? until : SteadyTime::min());
  const Guard lock(mutex);
  late_grant = again;
  pass_until = until;
  last_fence = last;
  claimed = std::move(record);
  holder = this_thread_number();
  phase = Phase::holding;
  return true;
}

}  // namespace distlock
