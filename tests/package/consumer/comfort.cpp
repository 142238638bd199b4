// Somebody else's program, of everything that is meant to be pleasant: each way to wait, guards, a
// coordinator that stops when its lock is lost.

#include <distlock/distributed_lock.h>
#include <distlock/stores.h>

#include <chrono>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

using namespace std::chrono_literals;
using distlock::DistributedLock;
using distlock::LockRecord;

namespace {

bool waits_in_each_way(DistributedLock& lock) {
  const std::stop_source never;
  LockRecord other;
  bool got = lock.try_lock_for(30s, never.get_token(), "for", &other);
  lock.unlock();
  got = lock.try_lock_until(std::chrono::system_clock::now() + 30s, never.get_token(), "until",
                            &other) &&
        got;
  lock.unlock();
  got = lock.lock(never.get_token(), "at will", &other) && got;
  lock.unlock();
  {
    const std::unique_lock<DistributedLock> standard(lock, 1s);
    got = standard.owns_lock() && got;
  }
  {
    const std::scoped_lock standard(lock);
    got = lock.held() && got;
  }
  return got && lock.try_lock() && lock.unlock() == distlock::UnlockResult::released;
}

bool guards(DistributedLock& lock, DistributedLock& late) {
  const distlock::dist_lock held(lock, 5s, "guarded");
  const distlock::dist_lock_try busy(&late, "too late");
  return held && held.fence() > 0 && !busy && busy.other().why == "guarded";
}

// Works until its lock is lost; every write carries the fence.
bool coordinator(const std::shared_ptr<distlock::DistributedLockPinger>& pinger) {
  std::promise<void> told;
  DistributedLock lock(pinger, "coordinator", {.why = "the options' own"});
  lock.on_lost([&](distlock::LossReason) { told.set_value(); });
  lock.on_at_risk([](distlock::SteadyTime) {});
  lock.lock();
  if (lock.record().why != "the options' own" || lock.remaining() <= 0s) return false;
  const std::stop_token lost = lock.stop_token();
  const distlock::Fence fence = lock.fence();
  distlock::Store& store = pinger->store();
  store.release("coordinator", *lock.record().ts);  // As `distlock break` does.
  const bool noticed = !lock.still_held();
  told.get_future().wait();
  lock.unlock();
  return noticed && lost.stop_requested() && lock.lost() && fence > 0;
}

}  // namespace

int main() {
  const auto store = distlock::make_memory_store();
  const auto pinger =
      std::make_shared<distlock::DistributedLockPinger>(distlock::Environment{.store = store});
  std::map<std::string, DistributedLock> kept;  // In place: it is not moved.
  DistributedLock& lock =
      kept.try_emplace("jobs", pinger, "jobs", distlock::LockOptions{.why = "jobs"}).first->second;
  DistributedLock late(pinger, "jobs", {.takeover_after = 10min});
  DistributedLock short_lease(distlock::ConnectionString("memory:"), "short",
                              {.takeover_after = 5s});
  std::optional<DistributedLock> later;
  later.emplace(distlock::ConnectionString("memory:"), "later");

  if (!short_lease.try_lock() || later->held() || !waits_in_each_way(lock) || !guards(lock, late))
    return 1;
  if (!coordinator(pinger)) return 2;
  std::cout << "pleasant\n";
  return 0;
}
