#include "distlock/pinger.h"

#include "distlock/error.h"
#include "pinger/pinger_impl.h"
#include "pinger/running_pingers.h"

namespace distlock {

DistributedLockPinger::DistributedLockPinger(Environment environment, const PingerOptions& options,
                                             PingerDrive drive)
    : impl_(std::make_shared<Impl>(std::move(environment), options, drive)) {
  if (drive == PingerDrive::caller) return;
  const auto pinger = std::exchange(impl_, Impl::owner_of(impl_));
  add_running(impl_);
  Impl::start_threads(pinger);
}

DistributedLockPinger::~DistributedLockPinger() {
  if (impl_->fork_guard.in_child()) {
    // Its threads do not exist here and its store is the parent's: neither may be ended.
    new std::shared_ptr<Impl>(std::move(impl_));
    return;
  }
  stop();
}

const std::string& DistributedLockPinger::process() const { return impl_->environment.process; }

Store& DistributedLockPinger::store() const { return *impl_->environment.store; }

PingerStats DistributedLockPinger::stats() const {
  impl_->fork_guard.check("the pinger");
  return impl_->stats();
}

SteadyTime DistributedLockPinger::ping_round() noexcept {
  if (impl_->fork_guard.in_child()) return SteadyTime::max();
  return impl_->round();
}

SteadyTime DistributedLockPinger::watch_round() noexcept {
  if (impl_->fork_guard.in_child()) return SteadyTime::max();
  return impl_->holds.announce_due(impl_->environment.clock->steady_now()).next;
}

void DistributedLockPinger::stop() noexcept {
  if (!impl_->fork_guard.in_child()) impl_->stop();
}

}  // namespace distlock
