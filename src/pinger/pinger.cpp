#include "distlock/pinger.h"

#include "distlock/error.h"
#include "pinger/running_pingers.h"
#include "pinger/session.h"
#include "protocol/protocol.h"

namespace distlock {
namespace {

// Before they are counted in nanoseconds, which hold no such interval.
const PingerOptions& checked_before_use(const PingerOptions& options) {
  protocol::check_options(options);
  return options;
}

}  // namespace

DistributedLockPinger::DistributedLockPinger(Environment environment, const PingerOptions& options,
                                             PingerDrive drive)
    : session_(
          std::make_shared<Session>(std::move(environment), checked_before_use(options), drive)) {
  if (drive == PingerDrive::caller) return;
  const auto pinger = std::exchange(session_, Session::owner_of(session_));
  add_running(session_);
  Session::start_threads(pinger);
}

DistributedLockPinger::~DistributedLockPinger() {
  if (session_->fork_guard.in_child()) {
    // Its threads do not exist here and its store is the parent's: neither may be ended.
    never_let_go(std::move(session_));
    return;
  }
  stop();
}

const std::string& DistributedLockPinger::process() const { return session_->environment.process; }

Store& DistributedLockPinger::store() const { return *session_->environment.store; }

PingerStats DistributedLockPinger::stats() const {
  session_->fork_guard.check("the pinger");
  return session_->stats();
}

SteadyTime DistributedLockPinger::ping_round() noexcept {
  if (session_->fork_guard.in_child()) return SteadyTime::max();
  return session_->round();
}

SteadyTime DistributedLockPinger::watch_round() noexcept {
  if (session_->fork_guard.in_child()) return SteadyTime::max();
  return session_->holds.announce_due(session_->environment.clock->steady_now()).next;
}

SteadyTime DistributedLockPinger::ring_round() noexcept {
  if (session_->fork_guard.in_child()) return SteadyTime::max();
  const SteadyTime next = session_->ring_round().next;
  // The rest is stop()'s: a caller that came again at once would never come to an end.
  return session_->stopping.stop_requested() ? SteadyTime::max() : next;
}

void DistributedLockPinger::stop() noexcept {
  if (!session_->fork_guard.in_child()) session_->stop();
}

}  // namespace distlock
