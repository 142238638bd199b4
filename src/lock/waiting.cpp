#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "distlock/error.h"
#include "failure.h"
#include "lock/contender.h"
#include "log.h"

// Waiting for a busy lock (R15): lock_try() again and again, with jittered pauses, a deadline and a
// stop token. Nothing else decides who holds it.
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

}  // namespace

void DistributedLock::lock() { (void)lock(std::stop_token{}); }

bool DistributedLock::lock(const std::stop_token& stop, std::string_view why, LockRecord* other) {
  return wait_for(kForEver, stop, why, other);
}

bool DistributedLock::wait_for(nanoseconds limit, const std::stop_token& stop, std::string_view why,
                               LockRecord* other) {
  const log::OfStore of_store(*contender_->session->environment.store);
  const RefusalLog::Wait wait(contender_->refusals);
  if (limit <= nanoseconds{0}) {
    return !stop.stop_requested() && contender_->lock_try(why, other, {.stop = stop});
  }
  const SteadyTime begun = contender_->session->environment.clock->steady_now();
  const bool in_line = contender_->options.wait_rule == WaitRule::in_line &&
                       contender_->session->environment.store->line() != nullptr;
  WaitTeller teller = contender_->teller_of_a_wait();
  const WaitRequest request{begun, begun + limit, stop, why, other, &teller, limit >= kForEver};
  return in_line ? contender_->wait_in_line(request) : contender_->wait_polling(request);
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

bool Contender::wait_polling(const WaitRequest& request) {
  session->check_usable();
  Clock& clock = *session->environment.clock;
  const Limit until{request.deadline, request.stop};
  SteadyTime fails_since = SteadyTime::max();
  std::optional<Error> failure;
  bool unsettled = false;  // A claim of some round has no certain answer.
  LockRecord seen;
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

// Makes a look of its own: the thread that stands in the store's line does not share its looks.
bool Contender::tell_behind_another(const WaitRequest& request) {
  Clock& clock = *session->environment.clock;
  WaitTeller& teller = *request.teller;
  std::optional<LockRecord> seen;
  try {
    seen = session->look(name, Freshness::ordinary).seen.lock;
  } catch (const Error& error) {
    if (!may_wait_on(error)) throw;
    teller.failed(error, clock.steady_now());
    return false;
  }
  if (request.other != nullptr) *request.other = seen.value_or(LockRecord{.name = name});
  if (seen) teller.saw(*seen, std::nullopt, clock.steady_now());
  return true;
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
