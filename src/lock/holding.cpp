#include <boost/thread/lock_guard.hpp>

#include "lock/contender.h"
#include "text.h"

// How a holder asks for the end of its hold, and is told of it (R9).
namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

bool DistributedLock::held() const {
  if (contender_->session->fork_guard.in_child()) return false;
  return !contender_->hold->validity.over(contender_->session->environment.clock->steady_now());
}

SteadyTime DistributedLock::valid_until() const {
  if (contender_->session->fork_guard.in_child()) return SteadyTime::min();
  return contender_->hold->validity.until();
}

std::chrono::nanoseconds DistributedLock::remaining() const {
  const SteadyTime until = valid_until();
  const SteadyTime now = contender_->session->environment.clock->steady_now();
  return until > now ? until - now : std::chrono::nanoseconds{0};
}

void DistributedLock::check() const {
  if (held()) return;
  contender_->session->fork_guard.check("the lock");
  throw Error(Errc::lock_lost,
              "lock \"" + escaped(contender_->name) + "\" is not held, or its deadline has passed");
}

bool DistributedLock::still_held() {
  contender_->session->fork_guard.check("the lock");
  const auto ts = [&]() -> std::optional<Token> {
    const Guard lock(contender_->mutex);
    return contender_->claimed ? contender_->claimed->ts : std::nullopt;
  }();
  if (!ts || !held()) return false;
  const auto reason = contender_->session->chores.fate_of(contender_->name, *ts);
  if (!reason) return held();
  // A callback may destroy this lock.
  const auto session = contender_->session;
  session->holds.lose({contender_->hold, *ts}, *reason);
  return false;
}

std::optional<LossReason> DistributedLock::lost() const {
  contender_->session->fork_guard.check("the lock");
  return contender_->session->holds.lost(*contender_->hold);
}

void DistributedLock::on_lost(std::function<void(LossReason)> callback) {
  contender_->session->fork_guard.check("the lock");
  contender_->session->holds.on_lost(*contender_->hold, std::move(callback));
}

void DistributedLock::on_at_risk(std::function<void(SteadyTime)> callback) {
  contender_->session->fork_guard.check("the lock");
  contender_->session->holds.on_at_risk(*contender_->hold, std::move(callback));
}

std::stop_token DistributedLock::stop_token() {
  contender_->session->fork_guard.check("the lock");
  return contender_->session->holds.stop_token(*contender_->hold);
}

}  // namespace distlock
