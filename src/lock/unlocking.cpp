#include <boost/thread/lock_guard.hpp>

#include "lock/contender.h"
#include "log.h"

// Giving up a hold: its own and no other, in bounded time, without throwing (R3, R11).
namespace distlock {

UnlockResult DistributedLock::unlock() noexcept { return contender_->unlock(std::nullopt); }

UnlockResult DistributedLock::unlock(const Token& ts) noexcept { return contender_->unlock(ts); }

UnlockResult Contender::unlock(const std::optional<Token>& only) noexcept {
  const log::OfStore of_store(*session->environment.store);
  if (session->fork_guard.in_child()) return UnlockResult::not_ours;
  std::optional<LockRecord> record;
  {
    const boost::lock_guard<boost::mutex> lock(mutex);
    if (phase != Phase::holding || (only && claimed->ts != only)) return UnlockResult::not_ours;
    phase = Phase::releasing;
    record = std::exchange(claimed, std::nullopt);
  }
  // Its deadline may have passed before the watch has looked: that is a loss, and told as one.
  const SteadyTime valid_until =
      session->holds.retire(hold, session->environment.clock->steady_now());
  const auto [result, others_wait] = releaser.release(*record->ts, valid_until);
  leave_late_grant_pending();
  session->holds.delist(hold);
  {
    const boost::lock_guard<boost::mutex> lock(mutex);
    phase = Phase::idle;
    // A claim from it is refused where others come first.
    const bool may_claim = result == UnlockResult::released && !others_wait;
    if (may_claim) remembered = remember(FromFree{record->ts}, *record);
  }
  if (refusals.somebody_waits()) session->lobby.ring(name);
  return result;
}

}  // namespace distlock
