#include <boost/thread/lock_guard.hpp>
#include <utility>

#include "lock/contender.h"
#include "log.h"

// A hold goes on from one thread of the process to the next, without a call of the store (R21).
//
// The giver finds the first thread in the queue whose object is free. It takes that object to its
// phase *acquiring*, and moves the hold over, in one step for pings and losses. The thread wakes
// and keeps the hold as if the store had just granted it. So its deadline is verified, and its loss
// is told to it and to no other.
namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;
using std::chrono::nanoseconds;

}  // namespace

Fence Contender::fences_for(const Lobby::Place& place) const {
  const bool passes = options.pass_rule == PassRule::in_process &&
                      options.release_rule == ReleaseRule::quick && place.others_wait();
  return passes ? protocol::kHoldersOfAClaimMost : 1;
}

bool Contender::may_pass_on(const LockRecord& record, SteadyTime now) const {
  if (record.fence >= last_fence || now >= pass_until) return false;
  // A request with its ticket may still arrive, and the release of that is on its way.
  if (late_grant || session->pending.contains(*record.ts)) return false;
  // Read once, and before: whoever asks held() may end it at any moment.
  const SteadyTime until = hold->validity.until();
  if (hold->validity.over(now)) return false;
  const nanoseconds span = hold->validity_span;
  const SteadyTime last_ping = until - span;
  return !protocol::must_ping_before_claim(last_ping, now, span, session->options);
}

bool Contender::fits(const Contender& from) const {
  return options.pass_rule == PassRule::in_process && options.wait_rule == WaitRule::in_line &&
         options.release_rule == ReleaseRule::quick &&
         options.takeover_after == from.options.takeover_after;
}

bool Contender::inherit(Contender& from, const Token& ts, SteadyTime now) {
  if (!fits(from)) return false;
  const bool from_other = &from != this;
  if (from_other) {
    const Guard lock(mutex);
    if (phase != Phase::idle) return false;
    phase = Phase::acquiring;
  }
  const auto undo = [&]() noexcept {
    if (!from_other) return;
    session->holds.delist(hold);
    const Guard lock(mutex);
    phase = Phase::idle;
  };
  try {
    // Enlisted with its `ts` before it moves: so no round takes it for a stray on the way.
    session->holds.enlist(hold, ts);
    if (session->holds.hand_over(*from.hold, *hold, ts, now)) return true;
  } catch (...) {
    undo();
    throw;
  }
  undo();
  return false;
}

// With the mutex of the queues, after inherit().
void Contender::leave_to(const Contender& to, const Token& ts) noexcept {
  const bool to_other = &to != this;
  if (to_other) session->holds.delist(hold);
  const Guard lock(mutex);
  passed = ts;
  phase = to_other ? Phase::idle : Phase::acquiring;
}

bool Contender::pass_on(LockRecord& record) noexcept {
  const SteadyTime now = session->environment.clock->steady_now();
  if (!may_pass_on(record, now)) return false;
  bool went_on = false;
  try {
    went_on = session->lobby.pass_on(name, [&](Heir& heir) -> std::optional<Pass> {
      auto& to = static_cast<Contender&>(heir);
      if (!to.inherit(*this, *record.ts, now)) return std::nullopt;
      Pass pass{std::move(record), last_fence, pass_until};
      ++pass.record.fence;
      leave_to(to, *pass.record.ts);
      return pass;
    });
  } catch (...) {
    // Nobody has it: a stopped pinger, or no memory. So it is released.
    return false;
  }
  if (went_on) log::passed_on(name);
  return went_on;
}

bool Contender::accept(Lobby::Place& place, const Limit& until, bool& unsettled) {
  auto pass = place.take_pass();
  if (!pass) return false;
  AcquiringPhase acquiring{*this};
  remembered.reset();
  limit = until;
  acquiring.held = keep_until(pass->record, pass->last, pass->until, std::nullopt);
  if (!acquiring.held && !give_back(pass->record)) unsettled = true;
  return acquiring.held;
}

bool Contender::relinquish(Lobby::Place& place, const Limit& until) noexcept {
  if (session->fork_guard.in_child() || place.close()) return true;
  const auto pass = place.take_pass();
  session->lobby.set_passing(name, SteadyTime::min());
  limit = until;
  const auto released = releaser.release(*pass->record.ts, SteadyTime::min());
  end_acquiring();
  session->lobby.ring(name);
  return released.result != UnlockResult::pending;
}

}  // namespace distlock
