#include "lock/queueing.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "distlock/error.h"
#include "failure.h"
#include "pinger/identity.h"
#include "thread_number.h"

namespace distlock {

using std::chrono::nanoseconds;

Queueing::Queueing(Contender& lock, Lobby::Place& place, const WaitRequest& request)
    : lock_(lock),
      place_(place),
      request_(request),
      clock_(*lock.session->environment.clock),
      deadlocks_(request.deadlock_watch(lock.options, *lock.session)),
      thread_(request.for_ever ? this_thread_of(lock.session->environment) : ""),
      to_look_(request.other != nullptr) {
  place.show(thread_);
}

Queueing::Turn Queueing::wait() {
  for (;;) {
    if (const auto turn = step()) return *turn;
  }
}

std::optional<Queueing::Turn> Queueing::step() {
  lock_.session
      ->check_usable();  // In a child, before it takes a mutex that a thread had at the fork.
  const std::stop_token rung = place_.wake().arm();
  place_.open(lock_);
  if (lock_.accept(place_, request_.limit(), unsettled_)) return Turn::held;
  lock_.session->check_usable();
  const SteadyTime now = clock_.steady_now();
  if (come_forward(now)) return Turn::to_stand;
  if (request_.stop.stop_requested() || now >= request_.deadline)
    return place_.close() ? std::optional(Turn::over) : std::nullopt;
  // While it is busy with the store or the program, no hold waits for it.
  if (now >= std::min(look_due(), deadlocks_.due()) && !place_.close()) return std::nullopt;
  if (now >= look_due()) look();
  if (request_.stop.stop_requested()) return std::nullopt;
  // No other process sees its cycle, so none needs a ping of this one for it.
  if (now >= deadlocks_.due()) (void)deadlocks_.look(place_.made_up_ticket(), clock_);
  place_.open(lock_);
  clock_.wait_until(next_round(now), rung);
  return std::nullopt;
}

bool Queueing::come_forward(SteadyTime now) {
  const bool ours = held_by_this_thread();
  if (!ours) check_patience(now);
  passing_until_ = place_.passing_until();
  our_turn_ = (now >= passing_until_ && place_.first()) || ours;
  if (!our_turn_) return false;
  if (lock_.begin_acquiring(request_.other)) {
    place_.stand();
    return true;
  }
  place_.store_answered();  // Nobody asks it for those behind.
  to_look_ = false;         // A busy object has told whom it waits for.
  if (object_holds_what_is_lost()) place_.step_aside();
  return false;
}

// Those in front have asked the store for this thread, too (R15). While they pause, or wait for an
// answer, nobody knows that it still fails.
void Queueing::check_patience(SteadyTime now) const {
  const auto failing = place_.failing();
  if (!failing || request_.stop.stop_requested()) return;
  const bool impatient =
      failing->last - std::max(failing->since, request_.begun) >= nanoseconds{lock_.patience()};
  if (impatient || now >= request_.deadline) throw Error(failing->error);
}

bool Queueing::held_by_this_thread() const {
  const boost::lock_guard<boost::mutex> lock(lock_.mutex);
  return lock_.phase == Contender::Phase::holding && lock_.holder == this_thread_number();
}

bool Queueing::object_holds_what_is_lost() const {
  const SteadyTime now = clock_.steady_now();
  const boost::lock_guard<boost::mutex> lock(lock_.mutex);
  return lock_.phase == Contender::Phase::holding && lock_.hold->validity.over(now);
}

void Queueing::look() {
  place_.show({});  // The program may wait for another lock meanwhile.
  const bool answered = tell_what_is_seen();
  to_look_ = to_look_ && !answered;
  const SteadyTime ended = clock_.steady_now();
  // However long it lasted, and whatever rings meanwhile: one that failed has a pause (R15).
  if (look_due() <= ended) look_from_ = ended + nanoseconds{lock_.options.recheck};
  lock_.session->check_usable();  // The program may have forked, or stopped the pinger.
  place_.show(thread_);
}

// The thread that stands in the store's line does not share its looks.
bool Queueing::tell_what_is_seen() {
  std::optional<LockRecord> seen;
  try {
    seen = lock_.session->look(lock_.name, Freshness::ordinary).seen.lock;
  } catch (const Error& error) {
    if (!may_wait_on(error)) throw;
    request_.teller->failed(error, clock_.steady_now());
    return false;
  }
  if (request_.other != nullptr) *request_.other = seen.value_or(LockRecord{.name = lock_.name});
  if (seen) request_.teller->saw(*seen, std::nullopt, clock_.steady_now());
  return true;
}

SteadyTime Queueing::look_due() const {
  return std::max(look_from_, to_look_ ? SteadyTime::min() : request_.teller->due());
}

SteadyTime Queueing::next_round(SteadyTime now) const {
  SteadyTime next = std::min({clock_.steady_now() + nanoseconds{lock_.options.recheck},
                              request_.deadline, deadlocks_.due(), look_due()});
  const SteadyTime kept = lock_.hold->validity.until();
  if (our_turn_ && kept > now) next = std::min(next, kept);
  if (passing_until_ > now) next = std::min(next, passing_until_);
  return next;
}

}  // namespace distlock
