#include <boost/thread/lock_guard.hpp>

#include "lock/distributed_lock_impl.h"
#include "text.h"

// What a holder knows of its hold's end, and how it is told (R9).
namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

bool DistributedLock::held() const {
  if (impl_->pinging->fork_guard.in_child()) return false;
  return !impl_->hold->validity.over(impl_->pinging->environment.clock->steady_now());
}

SteadyTime DistributedLock::valid_until() const {
  if (impl_->pinging->fork_guard.in_child()) return SteadyTime::min();
  return impl_->hold->validity.until();
}

std::chrono::nanoseconds DistributedLock::remaining() const {
  const SteadyTime until = valid_until();
  const SteadyTime now = impl_->pinging->environment.clock->steady_now();
  return until > now ? until - now : std::chrono::nanoseconds{0};
}

void DistributedLock::check() const {
  if (held()) return;
  impl_->pinging->fork_guard.check("the lock");
  throw Error(Errc::lock_lost,
              "lock \"" + escaped(impl_->name) + "\" is not held, or its deadline has passed");
}

bool DistributedLock::still_held() {
  impl_->pinging->fork_guard.check("the lock");
  const auto ts = [&]() -> std::optional<Token> {
    const Guard lock(impl_->mutex);
    return impl_->claimed ? impl_->claimed->ts : std::nullopt;
  }();
  if (!ts || !held()) return false;
  const auto reason = impl_->pinging->chores.fate_of(impl_->name, *ts);
  if (!reason) return held();
  // A callback may destroy this lock.
  const auto pinging = impl_->pinging;
  pinging->holds.lose({impl_->hold, *ts}, *reason);
  return false;
}

bool DistributedLock::reclaim(std::string_view why) {
  protocol::check_why(why);
  impl_->pinging->check_usable();
  impl_->begin_reclaiming();
  Claiming claiming{*impl_};
  impl_->limit = {};
  const Tried tried = impl_->claim_remembered(why);
  if (tried.failure) throw Error(*tried.failure);
  claiming.held = tried.held;
  return claiming.held;
}

std::optional<LossReason> DistributedLock::lost() const {
  impl_->pinging->fork_guard.check("the lock");
  return impl_->pinging->holds.lost(*impl_->hold);
}

void DistributedLock::on_lost(std::function<void(LossReason)> callback) {
  impl_->pinging->fork_guard.check("the lock");
  impl_->pinging->holds.on_lost(*impl_->hold, std::move(callback));
}

void DistributedLock::on_at_risk(std::function<void(SteadyTime)> callback) {
  impl_->pinging->fork_guard.check("the lock");
  impl_->pinging->holds.on_at_risk(*impl_->hold, std::move(callback));
}

std::stop_token DistributedLock::stop_token() {
  impl_->pinging->fork_guard.check("the lock");
  return impl_->pinging->holds.stop_token(*impl_->hold);
}

}  // namespace distlock
