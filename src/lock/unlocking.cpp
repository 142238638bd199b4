#include <boost/thread/lock_guard.hpp>

#include "lock/contender.h"
#include "log.h"
#include "thread_number.h"

// Giving up a hold: its own and no other, in bounded time, without throwing (R3, R11).
namespace distlock {

UnlockResult DistributedLock::unlock() noexcept { return contender_->unlock(std::nullopt); }

UnlockResult DistributedLock::unlock(const Token& ts) noexcept {
  return contender_->unlock(Contender::Named{ts, std::nullopt});
}

UnlockResult DistributedLock::unlock(const LockRecord& hold) noexcept {
  return contender_->unlock(Contender::Named{hold.ts.value_or(Token{}), hold.fence});
}

// With the mutex. A `ts` alone may be of an earlier hold, which this object has passed on.
bool Contender::is_named(const Named& one) const {
  if (claimed->ts != one.ts) return false;
  if (one.fence) return claimed->fence == *one.fence;
  return passed != one.ts || holder == this_thread_number();
}

UnlockResult Contender::unlock(const std::optional<Named>& only) noexcept {
  const log::OfStore of_store(*session->environment.store);
  if (session->fork_guard.in_child()) return UnlockResult::not_ours;
  std::optional<LockRecord> record;
  bool by_its_thread = false;
  {
    const boost::lock_guard<boost::mutex> lock(mutex);
    if (phase != Phase::holding || (only && !is_named(*only))) return UnlockResult::not_ours;
    phase = Phase::releasing;
    record = std::exchange(claimed, std::nullopt);
    by_its_thread = holder == this_thread_number();
  }
  // A guard of the data that asks by `ts` must refuse what this thread does from now on. It does
  // not if the hold goes on with that `ts` while its own thread may still be at work.
  if (by_its_thread && pass_on(*record)) return UnlockResult::released;
  const bool passing = pass_until != SteadyTime::min();
  if (passing) session->lobby.set_passing(name, SteadyTime::min());
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
  if (refusals.somebody_waits()) {
    session->lobby.ring(name);
  } else if (passing) {
    session->lobby.ring_others(name);  // They have waited for a pass.
  }
  return result;
}

}  // namespace distlock
