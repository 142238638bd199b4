#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <set>

#include "failure.h"
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
  const SteadyTime give_up_at = begun + std::chrono::nanoseconds{options.ping_every} / 2;
  attempt("verifying holds", [&] { verify_holds(give_up_at); });
  log_losses();
  attempt("working off pending releases",
          [&] { pending.work_off(*environment.store, *environment.clock, give_up_at); });
  attempt("removing old pings", [&] { forget_old_pings(); });
  return begun + options.ping_every;
}

void DistributedLockPinger::Impl::attempt(const char* what,
                                          const std::function<void()>& chore) noexcept {
  try {
    chore();
  } catch (...) {
    log::chore_failed(what, current_failure().what);
  }
}

void DistributedLockPinger::Impl::verify_holds(SteadyTime give_up_at) {
  const std::vector<ActiveHold> active = holds.active();
  std::set<std::pair<std::string, Token>> stored;
  const std::vector<StoredHold> list = environment.store->holds(environment.process);
  // After the list: whatever was being claimed meanwhile is known by now, or pending.
  const std::vector<Token> known = holds.known();
  for (const StoredHold& hold : list) stored.emplace(hold.name, hold.ts);
  const auto in_time = [&] { return environment.clock->steady_now() < give_up_at; };
  // One by one: what cannot be learned of one lock says nothing of the next (R14).
  for (const ActiveHold& hold : active) {
    if (stored.contains({hold.hold->name, hold.ts}) || !in_time()) continue;
    attempt("verifying a hold", [&] { lose_if_gone(hold); });
  }
  for (const StoredHold& hold : list) {
    if (std::binary_search(known.begin(), known.end(), hold.ts) || !in_time()) continue;
    attempt("looking at a stray hold", [&] { adopt_if_stray(hold); });
  }
}

// The list may come from a primary that is none any more. A fresh read cannot.
void DistributedLockPinger::Impl::lose_if_gone(const ActiveHold& hold) {
  if (const auto reason = fate_of(hold.hold->name, hold.ts)) holds.lose(hold, *reason);
}

// The last net under R8: whatever became of a claim that was given up, its hold shows here.
void DistributedLockPinger::Impl::adopt_if_stray(const StoredHold& hold) {
  if (pending.contains(hold.ts)) return;
  // An unlock that ended while the list was on its way leaves no stray.
  if (fate_of(hold.name, hold.ts)) return;
  log::stray_hold(hold.name);
  pending.add({hold.name, hold.ts});
}

void DistributedLockPinger::Impl::log_losses() {
  for (const auto& [name, reason] : holds.take_unlogged()) log::lost(name, reason);
  if (holds.announcer().take_shortage()) log::no_thread_to_announce(environment.process);
}

std::optional<LossReason> DistributedLockPinger::Impl::fate_of(const std::string& name,
                                                               const Token& ts) {
  return protocol::fate(name, ts, environment.store->carried(name));
}

void DistributedLockPinger::Impl::forget_old_pings() {
  const SteadyTime now = environment.clock->steady_now();
  const auto pause = protocol::forget_pause(environment.random(), options);
  {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    if (now < forget_next_) return;
    forget_next_ = now + pause;
  }
  log::forgot_pings(environment.store->forget_pings(options.forget_after));
}

void DistributedLockPinger::Impl::farewell() {
  const SteadyTime give_up_at = environment.clock->steady_now() + environment.store->call_limit();
  pending.work_off(*environment.store, *environment.clock, give_up_at);
  const bool pinged = [&] {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    return last_ping_sent_.has_value();
  }();
  if (pinged && holds.empty() && pending.count() == 0) {
    environment.store->remove_ping(environment.process);
  }
}

}  // namespace distlock
