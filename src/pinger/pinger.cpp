#include "distlock/pinger.h"

#include <boost/thread/lock_guard.hpp>
#include <map>

#include "distlock/error.h"
#include "distlock/stores.h"
#include "pinger/pinger_impl.h"
#include "pinger/running_pingers.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

struct Shared {
  boost::mutex mutex;
  std::map<std::string, std::weak_ptr<DistributedLockPinger>> by_string;
};

// The parent's pingers mean nothing in a forked child (R16).
PerProcess<Shared> shared_in_this_process;

}  // namespace

DistributedLockPinger::DistributedLockPinger(Environment environment, const PingerOptions& options,
                                             PingerDrive drive)
    : impl_(std::make_shared<Impl>(std::move(environment), options, drive)) {
  if (drive == PingerDrive::caller) return;
  add_running(impl_);
  impl_->start_threads();
}

DistributedLockPinger::~DistributedLockPinger() {
  if (impl_->fork_guard.in_child()) {
    // Its threads do not exist here and its store is the parent's: neither may be ended.
    new std::shared_ptr<Impl>(std::move(impl_));
    return;
  }
  stop();
}

std::shared_ptr<DistributedLockPinger> DistributedLockPinger::got(
    const ConnectionString& connection) {
  Shared& shared = shared_in_this_process.get();
  const auto running = [&]() -> std::shared_ptr<DistributedLockPinger> {
    const Guard lock(shared.mutex);
    return shared.by_string[connection.text()].lock();
  };
  if (auto pinger = running()) return pinger;
  // Opened without the mutex: one store that does not answer must not hold up the others.
  auto made = std::make_shared<DistributedLockPinger>(Environment{.store = open_store(connection)});
  const Guard lock(shared.mutex);
  auto& slot = shared.by_string[connection.text()];
  if (auto pinger = slot.lock()) return pinger;
  slot = made;
  return made;
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
