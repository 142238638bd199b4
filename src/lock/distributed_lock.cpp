#include "distlock/distributed_lock.h"

#include <boost/thread/lock_guard.hpp>

#include "lock/contender.h"
#include "text.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

bool DistributedLock::lock_try(std::string_view why, LockRecord* other) {
  return contender_->lock_try(why, other, {});
}

DistributedLock::DistributedLock(std::shared_ptr<DistributedLockPinger> pinger, std::string name,
                                 const LockOptions& options) {
  if (!pinger) throw Error(Errc::invalid_argument, "a lock needs a pinger");
  auto session = pinger->session_;
  contender_ =
      std::make_unique<Contender>(std::move(pinger), std::move(session), std::move(name), options);
}

DistributedLock::DistributedLock(const ConnectionString& config, std::string name,
                                 int takeover_minutes)
    : DistributedLock(config, std::move(name),
                      LockOptions::taking_over_after_minutes(takeover_minutes)) {}

DistributedLock::DistributedLock(const ConnectionString& config, std::string name,
                                 const LockOptions& options) {
  // Before the store is opened: a wrong argument is an error whatever the store says.
  protocol::check_name(name);
  protocol::check_options(options);
  const auto pinging_options = PingerOptions::fitting(options.takeover_after);
  const auto store_options = StoreOptions::fitting(options.takeover_after);
  protocol::check_room(options, pinging_options, store_options.call_limit);
  auto pinger = DistributedLockPinger::got(config, pinging_options, store_options);
  auto session = pinger->session_;
  contender_ =
      std::make_unique<Contender>(std::move(pinger), std::move(session), std::move(name), options);
}

DistributedLock::~DistributedLock() {
  if (contender_->session->fork_guard.in_child()) {
    // Its hold is the parent's (R16).
    (void)contender_.release();
    return;
  }
  unlock();
  contender_->session->holds.silence(*contender_->hold);
}

const std::string& DistributedLock::name() const { return contender_->name; }

const LockOptions& DistributedLock::options() const { return contender_->options; }

LockRecord DistributedLock::record() const {
  contender_->session->fork_guard.check("the lock");
  const Guard lock(contender_->mutex);
  if (contender_->claimed) return *contender_->claimed;
  throw Error(Errc::lock_lost, "lock \"" + escaped(contender_->name) + "\" is not held");
}

}  // namespace distlock
