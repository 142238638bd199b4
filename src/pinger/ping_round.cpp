#include <boost/thread/lock_guard.hpp>

#include "log.h"
#include "pinger/pinger_impl.h"

// One round of the pinger: the ping first, then what can wait and what may fail.
namespace distlock {

SteadyTime DistributedLockPinger::Impl::round() noexcept {
  if (stopped_) return SteadyTime::max();
  const SteadyTime begun = environment.clock->steady_now();
  log_losses();
  if (!ping_noting_failure()) {
    return environment.clock->steady_now() + protocol::ping_retry_pause(options);
  }
  chores.work_off(begun, stopping.get_token());
  log_losses();
  return begun + options.ping_every;
}

void DistributedLockPinger::Impl::log_losses() {
  for (const auto& [name, reason] : holds.take_unlogged()) log::lost(name, reason);
  if (holds.announcer().take_shortage()) log::no_thread_to_announce(environment.process);
}

void DistributedLockPinger::Impl::farewell() {
  const Clock& clock = *environment.clock;
  ChoreTime time(clock, clock.steady_now() + environment.store->call_limit());
  pending.work_off(*environment.store, clock, time);
  const bool pinged = [&] {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    return last_ping_sent_.has_value();
  }();
  if (pinged && holds.empty() && pending.count() == 0) {
    environment.store->remove_ping(environment.process);
  }
}

}  // namespace distlock
