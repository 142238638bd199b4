#pragma once

#include <atomic>
#include <boost/thread/thread.hpp>
#include <cstring>
#include <memory>

#include "distlock/distributed_lock.h"

namespace distlock::testing {

/// Counts what the holders of one lock see of each other. It may be in memory that processes share.
struct HotLock {
  std::atomic<int> holding = 0;
  std::atomic<int> together = 0;
  std::atomic<int> backwards = 0;
  std::atomic<int> grants = 0;
  std::atomic<int> passes = 0;
  std::atomic<Fence> last_fence = 0;
  std::atomic<std::uint64_t> last_ts = 0;

  void visit(const DistributedLock& lock) {
    if (++holding > 1) ++together;
    const LockRecord record = lock.record();
    std::uint64_t ts = 0;
    std::memcpy(&ts, record.ts->bytes.data() + 4, sizeof ts);
    if (last_ts.exchange(ts) == ts) ++passes;
    if (last_fence.exchange(record.fence) >= record.fence) ++backwards;
    ++grants;
    --holding;
  }
};

/// Threads of one process, each with a lock object of its own, that get one lock again and again.
inline void hurry(HotLock& hot, const std::shared_ptr<DistributedLockPinger>& pinger,
                  const std::string& name, int threads, int rounds) {
  boost::thread_group group;
  for (int i = 0; i < threads; ++i) {
    group.create_thread([&] {
      DistributedLock lock(pinger, name);
      for (int round = 0; round < rounds; ++round) {
        lock.lock();
        hot.visit(lock);
        lock.unlock();
      }
    });
  }
  group.join_all();
}

}  // namespace distlock::testing
