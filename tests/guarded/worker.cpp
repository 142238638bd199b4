// A process that counts up under a lock:
//
//   WORKER ROLE guarded|bare LOCKS RESOURCE NAME
//
//   count   counts up twice
//   stop    is stopped between a read and its write
//
// It prints what became of its last write and what the number is after that, as in "refused 2".
// It waits for nothing but the lock, and dies with its parent.

#include "guarded/worker.h"

#include <signal.h>
#include <sys/prctl.h>

#include <functional>
#include <iostream>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"

namespace distlock::testing {
namespace {

using std::chrono::milliseconds;

struct Lease {
  milliseconds takeover_after;
  milliseconds ping_every;
  milliseconds call_limit;
};

Lease lease_for(StoreKind kind) {
  if (kind == StoreKind::mongodb) return {milliseconds{1200}, milliseconds{100}, milliseconds{260}};
  return {milliseconds{400}, milliseconds{50}, milliseconds{80}};
}

// A process that is stopped while it writes to a SQLite file keeps all others from writing to it
// until it goes on. Nobody could take over then. So a process that is to be stopped has no thread
// there that pings.
PingerDrive drive_for(const std::string& role, StoreKind kind) {
  const bool may_block_others = role == "stop" && kind == StoreKind::sqlite;
  return may_block_others ? PingerDrive::caller : PingerDrive::own_threads;
}

// Such short limits are too short for the beginning of many processes at once.
std::shared_ptr<Store> open_patiently(const ConnectionString& locks, milliseconds call_limit) {
  for (int attempt = 1;; ++attempt) {
    try {
      return open_store(locks, {.call_limit = call_limit});
    } catch (const Error& error) {
      if (error.errc() != Errc::not_applied || attempt == 100) throw;
    }
  }
}

std::unique_ptr<DistributedLock> make_lock(const std::string& role, const CounterPlace& place) {
  const ConnectionString locks(place.locks);
  const Lease lease = lease_for(locks.kind());
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = open_patiently(locks, lease.call_limit)},
      PingerOptions{.ping_every = lease.ping_every}, drive_for(role, locks.kind()));
  return std::make_unique<DistributedLock>(
      pinger, place.name,
      LockOptions{.takeover_after = lease.takeover_after, .poll_max = milliseconds{50}});
}

// On a slow machine such a short hold may be over before there was time to use it.
bool hold_and(DistributedLock& lock, Counter& counter,
              const std::function<bool(std::int64_t)>& work) {
  while (true) {
    lock.lock();
    try {
      counter.begin(lock.record());
      const std::int64_t value = counter.read();
      lock.check();
      return work(value);
    } catch (const Error& error) {
      if (error.errc() != Errc::lock_lost) throw;
    }
    lock.unlock();
  }
}

bool count(Counter& counter, std::int64_t value) {
  return counter.write(value + 1) && counter.write(counter.read() + 1);
}

bool stop(Counter& counter, std::int64_t value) {
  raise(SIGSTOP);
  return counter.write(value + 1);
}

void run(const std::string& role, const CounterPlace& place) {
  const std::unique_ptr<DistributedLock> lock = make_lock(role, place);
  const std::unique_ptr<Counter> counter = make_counter(place);
  const bool written = hold_and(*lock, *counter, [&](std::int64_t value) {
    return role == "stop" ? stop(*counter, value) : count(*counter, value);
  });
  std::cout << (written ? "written " : "refused ") << counter->peek() << '\n';
}

}  // namespace
}  // namespace distlock::testing

int main(int argc, char** argv) try {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  distlock::set_log_level(distlock::LogLevel::off);
  if (argc != 6) throw std::invalid_argument("five arguments are needed");
  distlock::testing::run(argv[1], {.locks = argv[3],
                                   .resource = argv[4],
                                   .name = argv[5],
                                   .guarded = argv[2] == std::string("guarded")});
  return 0;
} catch (const std::exception& error) {
  std::cout << "failed: " << error.what() << '\n';
  return 1;
}
