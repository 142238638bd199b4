#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <memory>

#include "distlock/error.h"
#include "failure.h"
#include "lock/contender.h"
#include "lock/queueing.h"
#include "lock/standing.h"
#include "log.h"

// Waiting for a busy lock (R15), with a deadline and a stop token: behind other threads of the
// process and in the line of the store (R17, R20), or by lock_try() again and again, with jittered
// pauses.
namespace distlock {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::hours kForEver{24 * 365 * 100};

void tell(WaitTeller& teller, const LockRecord& seen, const std::optional<Error>& failure,
          SteadyTime now) {
  if (failure) {
    teller.failed(*failure, now);
  } else {
    teller.saw(seen, std::nullopt, now);
  }
}

Judging judging_of(const LockOptions& options) {
  return {options.takeover_after.count(),
          options.max_clock_skew.value_or(std::chrono::milliseconds{-1}).count(),
          static_cast<std::int64_t>(options.takeover_rule),
          static_cast<std::int64_t>(options.missing_ping), options.unstated_window.count()};
}

}  // namespace

void DistributedLock::lock() { (void)lock(std::stop_token{}); }

bool DistributedLock::lock(const std::stop_token& stop, std::string_view why, LockRecord* other) {
  return wait_for(kForEver, stop, why, other);
}

bool DistributedLock::wait_for(nanoseconds limit, const std::stop_token& stop, std::string_view why,
                               LockRecord* other) {
  contender_->session->fork_guard.check("the lock");  // Before any mutex.
  const log::OfStore of_store(*contender_->session->environment.store);
  const RefusalLog::Wait wait(contender_->refusals);
  if (limit <= nanoseconds{0}) {
    return contender_->try_unless_stopped(why, other, stop);
  }
  const SteadyTime begun = contender_->session->environment.clock->steady_now();
  const bool in_line = contender_->options.wait_rule == WaitRule::in_line &&
                       contender_->session->environment.store->line() != nullptr;
  WaitTeller teller = contender_->teller_of_a_wait();
  bool warned = false;
  const WaitRequest request{begun,   begun + limit,     stop,   why, other,
                            &teller, limit >= kForEver, &warned};
  return in_line ? contender_->wait_in_line(request) : contender_->wait_polling(request);
}

// A stop ends a wait by false, also one of no time (R15). Its claim is freed.
bool Contender::try_unless_stopped(std::string_view why, LockRecord* other,
                                   const std::stop_token& stop) try {
  return !stop.stop_requested() && lock_try(why, other, {.stop = stop});
} catch (const Error& error) {
  if (!stop.stop_requested() || !may_wait_on(error)) throw;
  return false;
}

void DistributedLock::on_waiting(std::function<void(const WaitReport&)> callback) {
  contender_->session->fork_guard.check("the lock");
  auto next =
      callback ? std::make_shared<const WaitTeller::Callback>(std::move(callback)) : nullptr;
  const boost::lock_guard<boost::mutex> lock(contender_->mutex);
  contender_->on_waiting.swap(next);
}

WaitTeller Contender::teller_of_a_wait() const {
  const SteadyTime now = session->environment.clock->steady_now();
  const boost::lock_guard<boost::mutex> lock(mutex);
  return {on_waiting, now};
}

bool Contender::wait_in_line(const WaitRequest& request) {
  protocol::check_why(request.why);
  session->check_usable();
  Lobby::Place place(session->lobby, name, judging_of(options));
  auto ring = [guard = session->fork_guard, wake = place.shared_wake()] {
    if (!guard.in_child()) wake->ring();
  };
  using OnStop = LeftInChild<std::stop_callback<decltype(ring)>>;
  const OnStop on_stop(request.stop, ring);
  const OnStop on_end(session->stopping.get_token(), ring);
  const auto give_back = [&](Lobby::Place* of) { relinquish(*of, request.limit()); };
  const std::unique_ptr<Lobby::Place, decltype(give_back)> leaving(&place, give_back);
  Queueing queueing(*this, place, request);
  try {
    const Queueing::Turn turn = queueing.wait();
    if (turn == Queueing::Turn::to_stand) return wait_standing(place, request);
    return turn == Queueing::Turn::held;
  } catch (const Error& error) {
    const bool settled = relinquish(place, request.limit()) && !queueing.unsettled();
    if (settled) throw;
    throw of_all(error);
  }
}

bool Contender::wait_standing(Lobby::Place& place, const WaitRequest& request) {
  AcquiringPhase acquiring{*this};
  limit = request.limit();
  acquiring.held = with_errors_of_all([&] { return StandingInLine(*this, place, request).wait(); });
  return acquiring.held;
}

bool Contender::wait_polling(const WaitRequest& request) {
  session->check_usable();
  Clock& clock = *session->environment.clock;
  const Limit until = request.limit();
  SteadyTime fails_since = SteadyTime::max();
  std::optional<Error> failure;
  bool unsettled = false;  // A claim of some round has no certain answer.
  LockRecord seen{.name = name};
  for (int round = 0; !until.over(clock); ++round) {
    const SteadyTime begun = clock.steady_now();
    try {
      failure.reset();
      if (lock_try(request.why, &seen, until)) return true;
      fails_since = SteadyTime::max();
      if (request.other != nullptr) *request.other = seen;
    } catch (const Error& error) {
      fails_since = std::min(fails_since, begun);
      unsettled = unsettled || error.errc() == Errc::outcome_unknown;
      const bool impatient = clock.steady_now() - fails_since >= patience();
      if (!may_wait_on(error) || impatient) throw unsettled ? of_all(error) : error;
      failure = error;
      log::store_failed_while_waiting(name, error.what());
    }
    if (until.over(clock)) break;
    tell(*request.teller, seen, failure, clock.steady_now());
    session->check_usable();  // The program may have forked, or stopped the pinger.
    const EitherStop stop(session->stopping.get_token(), request.stop);
    clock.wait_until(next_look(round, request.deadline), stop.token());
  }
  if (failure && !request.stop.stop_requested()) throw unsettled ? of_all(*failure) : *failure;
  return false;
}

std::chrono::milliseconds Contender::patience() const {
  return std::min<std::chrono::milliseconds>(options.store_patience, kForEver);
}

SteadyTime Contender::next_look(int round, SteadyTime deadline) const {
  const std::uint64_t random = session->environment.random();
  const SteadyTime now = session->environment.clock->steady_now();
  const boost::lock_guard<boost::mutex> lock(mutex);
  const SteadyTime next = now + protocol::poll_pause(round, random, until_takeover, options);
  // No claim may follow a look at the deadline, so the last one comes a little before it.
  const SteadyTime last = deadline - nanoseconds{options.poll_min};
  if (next < last) return next;
  return now < last ? last : deadline;
}

}  // namespace distlock
