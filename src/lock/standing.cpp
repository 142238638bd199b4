#include "lock/standing.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "distlock/error.h"
#include "failure.h"
#include "log.h"
#include "pinger/identity.h"
#include "turns.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A little before the deadline, since no call may begin at it or later.
SteadyTime last_look(const WaitRequest& request, SteadyTime now, milliseconds poll_min) {
  return request.deadline - std::min<nanoseconds>(poll_min, (request.deadline - now) / 4);
}

// Soon enough to foretell a takeover in time.
nanoseconds first_look(const LockOptions& options) {
  return std::min<nanoseconds>({options.recheck, options.takeover_after / 16, milliseconds{500}});
}

}  // namespace

StandingInLine::StandingInLine(Contender& lock, Lobby::Place& place, const WaitRequest& request)
    : lock_(lock),
      place_(place),
      request_(request),
      line_(*lock.session->environment.store->line()),
      clock_(*lock.session->environment.clock),
      last_(last_look(request, clock_.steady_now(), lock.options.poll_min)),
      deadlocks_(request.deadlock_watch(lock.options, *lock.session)) {
  // Those in front of this thread have asked the store for it until now.
  if (const auto failing = place.failing()) fails_since_ = std::max(failing->since, request.begun);
}

StandingInLine::~StandingInLine() {
  if (lock_.session->fork_guard.in_child()) return;
  leave_pending_if_doubtful();
  if (!late_ && !failure_ && clock_.steady_now() < request_.deadline) give_up_place();
  if (perhaps_in_line_) lock_.session->leave_place_behind(lock_.name, ticket_);
}

void StandingInLine::give_up_place() {
  if (!std::exchange(perhaps_in_line_, false)) return;
  // A thread of this process that looks for a deadlock meanwhile takes it for given up (R22).
  lock_.session->pending.add_place(lock_.name, ticket_);
  try {
    line_.leave(lock_.name, ticket_);
    lock_.session->pending.settle_place(lock_.name, ticket_);
  } catch (...) {
    log::place_not_given_up(lock_.name, current_failure().what);
  }
}

// A request with this ticket may still arrive, and be granted or take a place.
void StandingInLine::leave_pending_if_doubtful() {
  if (std::exchange(doubtful_, false)) lock_.claims.leave_ticket_pending(ticket_, last_sent_);
}

void StandingInLine::begin_with_new_ticket() {
  leave_pending_if_doubtful();
  ticket_ = new_token(lock_.session->environment);
  // The same for all requests with this ticket: each may be the one that is granted (R21).
  fences_ = lock_.fences_for(place_);
  perhaps_in_line_ = false;
  asked_ = false;
  ticket_spent_ = false;
  lock_.session->holds.enlist(lock_.hold, ticket_);
  stand_at_ = clock_.steady_now();
  // Many get the lock before a look would help. The caller who wants to know the holder has one.
  const bool at_once = request_.other != nullptr;
  look_at(at_once ? stand_at_ : stand_at_ + first_look(lock_.options));
}

bool StandingInLine::wait() {
  std::stop_token rung;
  while (!lock_.out_of_time()) {
    lock_.session->check_usable();  // In a child, before it takes a mutex of the waker's.
    // Armed before the look, so that a bell in between is not lost (R19).
    const std::stop_token before = std::exchange(rung, place_.wake().arm());
    // Rung when the sleep was over already.
    if (before.stop_requested()) stand_at_ = clock_.steady_now();
    hears_no_rings_ = hears_no_rings_ && !before.stop_requested();
    try {
      if (step_on()) return true;
    } catch (...) {
      late_ = lock_.out_of_time();  // No call begins after a stop, for its place either (R15).
      throw;
    }
    late_ = lock_.out_of_time();
    if (late_) break;
    tell();
    rest(rung);
  }
  const std::optional<Error>& failure = failure_ ? failure_ : takeover_failure_;
  if (failure && !request_.stop.stop_requested()) throw Error(*failure);
  return false;
}

void StandingInLine::tell() {
  const auto seen = std::exchange(seen_, std::nullopt);
  const SteadyTime now = clock_.steady_now();
  if (failure_) {
    request_.teller->failed(*failure_, now);
  } else if (seen) {
    request_.teller->saw(*seen, ticket_, now);
  }
  lock_.session->check_usable();  // The program may have forked, or stopped the pinger.
}

bool StandingInLine::step_on() {
  const SteadyTime begun = clock_.steady_now();
  try {
    const bool held = step();
    if (!std::exchange(answered_, false) && !held) return false;
    fails_since_ = SteadyTime::max();
    failure_.reset();
    failures_ = 0;
    if (held || !takeover_failure_) place_.store_answered();
    return held;
  } catch (const Error& error) {
    fails_since_ = std::min(fails_since_, begun);
    bear(error);
  }
  return false;
}

void StandingInLine::rest(const std::stop_token& rung) {
  if (clock_.steady_now() >= last_) {
    // A program that was told of its wait may have outlasted it.
    if (!failure_ && !lock_.out_of_time()) give_up_place();
    place_.step_aside();  // The next thread stands now, and not at this one's deadline.
    const EitherStop stop(lock_.session->stopping.get_token(), request_.stop);
    clock_.wait_until(request_.deadline, stop.token());
    return;
  }
  const bool woken =
      !clock_.wait_until(std::min({stand_at_, look_at_, deadlocks_.due(), last_}), rung);
  const SteadyTime now = clock_.steady_now();
  if (woken || now >= last_) stand_at_ = now;
}

bool StandingInLine::step() {
  lock_.session->check_usable();
  if (!std::exchange(begun_, true) && claim_remembered()) return true;
  if (ticket_ == Token{}) begin_with_new_ticket();
  if (ticket_spent_) {
    give_up_place();
    begin_with_new_ticket();
  }
  if (!may_call()) return false;
  if (clock_.steady_now() >= stand_at_ && stand_or_look()) return true;
  if (!may_call()) return false;
  if (clock_.steady_now() >= look_at_ && look()) return true;
  if (may_call()) look_for_deadlock();
  return false;
}

bool StandingInLine::may_call() const {
  lock_.session->check_usable();
  return !lock_.out_of_time();
}

void StandingInLine::look_for_deadlock() {
  if (clock_.steady_now() < deadlocks_.due()) return;
  const auto seen = deadlocks_.look(ticket_, clock_);
  const bool vouch = seen == DeadlockWatch::Seen::cycle_without_our_ping;
  if (vouch && may_call()) lock_.session->ping_unless_stopped(lock_.limit);
}

bool StandingInLine::pinged() {
  return lock_.session->ensure_pinged(lock_.hold->validity_span, lock_.limit);
}

// From one's own hold that ran out or one's own release. The pings of this process would keep what
// ran out from everybody, so it is given up then.
bool StandingInLine::claim_remembered() {
  struct GiveUp {
    ~GiveUp() {
      if (lock.claimed && !held) lock.give_up_old_hold();
    }
    Contender& lock;
    bool held = false;
  };
  GiveUp old{lock_};
  const ClaimResult tried = lock_.claim_remembered(request_.why, lock_.fences_for(place_));
  old.held = tried.held;
  // No look will tell what became of it.
  const bool told = lock_.out_of_time() && !request_.stop.stop_requested();
  if (tried.failure && told) throw Error(*tried.failure);
  return old.held;
}

// A store whose clock is another now has not looked, so that a ring may have been for nothing: a
// look learns that clock.
bool StandingInLine::stand_or_look() {
  if (stand()) return true;
  if (nowhere_) look_at_ = clock_.steady_now();
  return false;
}

bool StandingInLine::stand() {
  if (!pinged() || !may_call()) return false;
  Claim claim = lock_.claims.claim_with(ticket_, request_.why, fences_);
  claim.who += request_.for_ever ? deadlock::inside(lock_.session->environment.outer_holds)
                                 : deadlock::with_deadline();
  claim.who += deadlock::having(lock_.session->holds.blocks_of_this_thread());
  stand_at_ = SteadyTime::max();
  last_sent_ = clock_.steady_now();
  const bool in_line_before = std::exchange(perhaps_in_line_, true);
  if (!std::exchange(asked_, true)) lock_.session->begin_claim(*lock_.hold);
  const bool doubtful_before = std::exchange(doubtful_, true);
  Standing standing;
  try {
    standing = line_.stand(lock_.name, claim);
  } catch (const Error& error) {
    doubtful_ = doubtful_before || error.errc() == Errc::outcome_unknown;
    // A malformed lock may have taken the place in, all the same.
    const bool unchanged =
        error.errc() == Errc::not_applied || error.errc() == Errc::permission_denied;
    if (unchanged) perhaps_in_line_ = in_line_before;
    throw;
  }
  doubtful_ = doubtful_before;
  answered_ = true;
  if (standing.hold) return keep(std::move(*standing.hold));
  // A store whose clock is another now has not looked: an earlier place is still there.
  perhaps_in_line_ = in_line_before || standing.in_line;
  nowhere_ = !standing.in_line && !standing.free;
  if (standing.free) await_turn(standing.in_line);
  attends_ = standing.attends;
  attends_nobody_ = standing.holder_ended;
  if (attends_nobody_) look_at_ = clock_.steady_now();
  return false;
}

// Mostly somebody has it by then. If not, a look says when this place's turn is. By the clock of
// the store that turn may come later than this one tells.
void StandingInLine::await_turn(bool in_line) {
  const SteadyTime now = clock_.steady_now();
  if (in_line && !std::exchange(free_turn_is_over_, false)) {
    look_at_ = std::min(look_at_, now + line::kTurn / 2);
  } else {
    stand_at_ = now + line::kTurn;
  }
}

// It may have been granted by an earlier claim than the last. So its deadline is counted through
// all pings since the first, and a ping after a pause gives it none that it never had (R9).
bool StandingInLine::keep(LockRecord record) {
  perhaps_in_line_ = false;
  asked_ = false;
  std::optional<Contender::Ticket> again;
  if (doubtful_) again = {ticket_, last_sent_};
  if (lock_.keep(record, fences_, again)) {
    doubtful_ = false;
    return true;
  }
  ticket_spent_ = true;
  if (lock_.out_of_time()) {
    lock_.give_back(record);
    return false;
  }
  if (claim_anew_from(std::move(record))) return true;
  begin_with_new_ticket();  // The old one is a pending release, so nothing may carry it (R18).
  return false;
}

// A waiter that stood still keeps the turn that came meanwhile, unless another has it by now. The
// claim of it counts from a ping of its own (R9, R17).
bool StandingInLine::claim_anew_from(LockRecord late) {
  lock_.remember_late_grant(std::move(late));
  // Before: where the store fails that claim, the late grant is in the store all the same.
  lock_.claims.note_unsettled();
  return claim_remembered();
}

void StandingInLine::bear(const Error& error) {
  const SteadyTime now = clock_.steady_now();
  if (!may_wait_on(error)) throw;
  failure_ = error;
  answered_ = false;
  const SteadyTime since = std::min(fails_since_, takeover_fails_since_);
  place_.store_failed({since, now, error});
  if (now - since >= nanoseconds{lock_.patience()}) throw;
  log::store_failed_while_waiting(lock_.name, error.what());
  const auto random = lock_.session->environment.random();
  stand_at_ = now + protocol::poll_pause(failures_++, random, milliseconds{0}, lock_.options);
  look_at_ = std::max(look_at_, stand_at_);
}

}  // namespace distlock
