#include "distlock/error.h"
#include "lock/distributed_lock_impl.h"
#include "log.h"

// Waiting for a busy lock (R15): lock_try() again and again, with jittered pauses, a deadline and a
// stop token. Nothing else decides who holds it.
namespace distlock {
namespace {

constexpr std::chrono::hours kForEver{24 * 365 * 100};

bool store_failed(const Error& error) {
  return error.errc() == Errc::not_applied || error.errc() == Errc::outcome_unknown;
}

}  // namespace

void DistributedLock::lock() { (void)lock(std::stop_token{}); }

bool DistributedLock::lock(const std::stop_token& stop, std::string_view why, LockRecord* other) {
  return wait_for(kForEver, stop, why, other);
}

bool DistributedLock::wait_for(std::chrono::nanoseconds limit, const std::stop_token& stop,
                               std::string_view why, LockRecord* other) {
  impl_->pinging->check_usable();
  const Environment& environment = impl_->pinging->environment;
  Clock& clock = *environment.clock;
  const SteadyTime deadline = clock.steady_now() + limit;
  SteadyTime store_answered = clock.steady_now();
  const std::chrono::nanoseconds patience =
      std::min<std::chrono::milliseconds>(impl_->options.store_patience, kForEver);
  const Impl::Waiting waiting(*impl_);
  for (int round = 0; !stop.stop_requested(); ++round) {
    try {
      if (lock_try(why, other)) return true;
      store_answered = clock.steady_now();
    } catch (const Error& error) {
      const SteadyTime now = clock.steady_now();
      const bool patient = now < store_answered + patience && now < deadline;
      if (!store_failed(error) || !patient) throw;
      log::store_failed_while_waiting(impl_->name, error.what());
    }
    const auto pause = impl_->poll_pause(round, environment.random());
    const SteadyTime next = std::min(clock.steady_now() + pause, deadline);
    if (clock.steady_now() >= deadline || !clock.wait_until(next, stop)) return false;
  }
  return false;
}

}  // namespace distlock
