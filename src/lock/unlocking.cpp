#include <boost/thread/lock_guard.hpp>

#include "failure.h"
#include "lock/distributed_lock_impl.h"
#include "log.h"

// Giving up a hold: its own and no other, in bounded time, without throwing (R3, R11).
namespace distlock {

UnlockResult DistributedLock::unlock() noexcept { return impl_->unlock(std::nullopt); }

UnlockResult DistributedLock::unlock(const Token& ts) noexcept { return impl_->unlock(ts); }

UnlockResult DistributedLock::Impl::unlock(const std::optional<Token>& only) noexcept {
  if (pinging->fork_guard.in_child()) return UnlockResult::not_ours;
  std::optional<LockRecord> record;
  {
    const boost::lock_guard<boost::mutex> lock(mutex);
    if (phase != Phase::holding || (only && claimed->ts != only)) return UnlockResult::not_ours;
    phase = Phase::releasing;
    record = std::exchange(claimed, std::nullopt);
  }
  // Its deadline may have passed before the watch has looked: that is a loss, and told as one.
  const SteadyTime valid_until =
      pinging->holds.retire(hold, pinging->environment.clock->steady_now());
  const UnlockResult result = release(*record, valid_until);
  if (const auto again = std::exchange(granted_once_more, std::nullopt)) {
    leave_pending(again->first, again->second);
  }
  pinging->holds.delist(hold);
  bool awaited = false;
  {
    const boost::lock_guard<boost::mutex> lock(mutex);
    phase = Phase::idle;
    if (result == UnlockResult::released) remembered = FromFree{record->ts};
    awaited = waiting > 0;
  }
  if (awaited) pinging->lobby.ring(name);
  return result;
}

UnlockResult DistributedLock::Impl::release(const LockRecord& record,
                                            SteadyTime valid_until) noexcept {
  bool perhaps_freed = false;
  for (int attempt = 1; attempt <= protocol::kUnlockAttemptsMax; ++attempt) {
    try {
      const ReleaseResult result = pinging->release_and_ring(name, *record.ts);
      return released(result, perhaps_freed, valid_until);
    } catch (...) {
      const Failure failure = current_failure();
      log::unlock_attempt_failed(name, attempt, failure.what);
      if (!failure.may_pass) break;
      perhaps_freed = perhaps_freed || failure.outcome_unknown;
    }
    if (attempt == protocol::kUnlockAttemptsMax) break;
    Clock& clock = *pinging->environment.clock;
    clock.wait_until(clock.steady_now() + protocol::unlock_pause(attempt),
                     pinging->stopping.get_token());
  }
  log::unlock_not_consummated(name, options.takeover_after);
  pinging->pending.add({name, *record.ts});
  return UnlockResult::pending;
}

// An earlier attempt may have freed it. While nobody could take over, it was nobody else.
UnlockResult DistributedLock::Impl::released(ReleaseResult result, bool perhaps_freed,
                                             SteadyTime valid_until) const {
  const bool by_us = perhaps_freed && (result == ReleaseResult::already_free ||
                                       pinging->environment.clock->steady_now() < valid_until);
  if (result == ReleaseResult::freed || by_us) {
    log::unlocked(name);
    return UnlockResult::released;
  }
  log::not_ours_any_more(name);
  return UnlockResult::not_ours;
}

}  // namespace distlock
