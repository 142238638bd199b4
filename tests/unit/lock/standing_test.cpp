#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "support/fleet.h"
#include "support/still_clock.h"

// Waiting in line (R17 to R20). Where a thread waits, it looks by itself only once in an hour: so a
// test that ends shows that the bell was heard.
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

LockOptions waking_by_bell_only() {
  LockOptions options;
  options.recheck = 1h;
  return options;
}

// Processes of one store with threads of their own, on this host's clock.
struct Town {
  explicit Town(std::shared_ptr<Clock> of_all = host_clock()) : clock(std::move(of_all)) {}

  const std::shared_ptr<Clock> clock;
  std::shared_ptr<Store> store = make_memory_store(clock);

  std::shared_ptr<DistributedLockPinger> pinger(const std::string& process) {
    return std::make_shared<DistributedLockPinger>(
        Environment{.store = store, .clock = clock, .process = process, .random = {}});
  }

  std::unique_ptr<DistributedLock> lock(const std::string& process,
                                        const std::string& name = "jobs") {
    return std::make_unique<DistributedLock>(pinger(process), name, waking_by_bell_only());
  }

  std::vector<std::string> line(const std::string& name = "jobs") const {
    std::vector<std::string> processes;
    const auto lock = store->inspect(name, Freshness::fresh).lock;
    for (const Waiter& waiter : lock->line) processes.push_back(waiter.process);
    return processes;
  }

  void wait_for_line(const std::vector<std::string>& wanted) const {
    while (line() != wanted) boost::this_thread::yield();
  }
};

using Processes = std::vector<std::string>;

}  // namespace

TEST_CASE("a waiter is woken by the release", "[waiting][R19]") {
  Town town;
  const auto holder = town.lock("a");
  REQUIRE(holder->lock_try("first"));
  const auto waiter = town.lock("b");
  boost::thread waiting([&] { waiter->lock(); });
  town.wait_for_line({"b"});
  CHECK(holder->unlock() == UnlockResult::released);
  waiting.join();
  CHECK(waiter->held());
  CHECK(waiter->fence() == 2);
  CHECK(town.line().empty());
  // Its own thread has ended; unlock() may come from any.
  CHECK(waiter->unlock() == UnlockResult::released);
}

TEST_CASE("a waiter is woken by a release of its own process, with another object",
          "[waiting][R19]") {
  Town town;
  const auto process = town.pinger("a");
  DistributedLock holder(process, "jobs", waking_by_bell_only());
  REQUIRE(holder.lock_try("first"));
  DistributedLock waiter(process, "jobs", waking_by_bell_only());
  std::promise<void> looked;
  waiter.on_waiting([&](const WaitReport&) { looked.set_value(); });
  boost::thread waiting([&] { waiter.lock(); });
  looked.get_future().wait();
  CHECK(holder.unlock() == UnlockResult::released);
  waiting.join();
  CHECK(waiter.held());
}

TEST_CASE("waiters get the lock in the order in which they came", "[waiting][R17]") {
  // No turn passes.
  const auto clock = std::make_shared<StillClock>();
  Town town(clock);
  auto holder = town.lock("holder");
  REQUIRE(holder->lock_try("first"));
  std::mutex mutex;
  Processes order;
  Processes came;
  std::vector<std::unique_ptr<DistributedLock>> locks;
  boost::thread_group threads;
  for (const char* process : {"a", "b", "c", "d", "e"}) {
    locks.push_back(town.lock(process));
    threads.create_thread([&, process, lock = locks.back().get()] {
      lock->lock();
      {
        const std::lock_guard guard(mutex);
        order.emplace_back(process);
      }
      lock->unlock();
    });
    came.emplace_back(process);
    town.wait_for_line(came);
  }
  holder->unlock();
  threads.join_all();
  CHECK(order == came);
  // At its end a pinger waits for the turns of those behind.
  locks.push_back(std::move(holder));
  const auto ended = std::async(std::launch::async, [&] { locks.clear(); });
  while (ended.wait_for(1ms) != std::future_status::ready) clock->advance(5ms);
}

TEST_CASE("while somebody's turn runs lock_try() says busy", "[waiting][R17]") {
  Fleet fleet;
  const auto process = fleet.process_with(fleet.store, "holder");
  const auto holder = process.lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const auto other = fleet.process_with(fleet.store, "other");
  other.pinger->ping_round();
  const Claim claim = fleet.claim_by("gone", Token{{7}});
  REQUIRE(fleet.store->line()->stand("jobs", claim).in_line);
  holder->unlock();

  const auto late = other.lock("jobs");
  LockRecord in_the_way;
  CHECK_FALSE(late->lock_try("pushes in", &in_the_way));
  CHECK(in_the_way.line.size() == 1);
  CHECK_FALSE(holder->lock_try("pushes in from its own release"));
  // The waiter whose turn it is is not there: it is passed over.
  fleet.clock->advance(100ms);
  CHECK(late->lock_try("its turn"));
}

TEST_CASE("a wait that ends by its deadline or a stop leaves the line", "[waiting][R17]") {
  Fleet fleet;
  const auto holder = fleet.process_with(fleet.store, "holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const auto waiter = fleet.process_with(fleet.store, "waiter").lock("jobs");
  CHECK_FALSE(waiter->try_lock_for(5s));
  CHECK(fleet.stored("jobs").line.empty());
  std::stop_source stopped;
  stopped.request_stop();
  CHECK_FALSE(waiter->lock(stopped.get_token()));
  CHECK(fleet.stored("jobs").line.empty());
  CHECK(fleet.stored("jobs").process == "holder");
}

TEST_CASE("a stop ends a wait in line at once", "[waiting][R15]") {
  // Nothing but the stop can end it.
  const auto clock = std::make_shared<StillClock>();
  Town town(clock);
  const auto holder = town.lock("a");
  REQUIRE(holder->lock_try("first"));
  const auto waiter = town.lock("b");
  std::stop_source stop;
  bool got = true;
  std::atomic<std::thread::id> thread;
  boost::thread waiting([&] {
    thread = std::this_thread::get_id();
    got = waiter->lock(stop.get_token());
  });
  town.wait_for_line({"b"});
  // A stop in the middle of a call would leave the place to the pinger.
  while (!clock->waits(thread)) boost::this_thread::yield();
  stop.request_stop();
  waiting.join();
  CHECK_FALSE(got);
  CHECK(town.line().empty());
}

TEST_CASE("threads of one object that wait get it one after the other", "[waiting][R20]") {
  Town town;
  const auto lock = town.lock("a");
  int rounds = 0;
  boost::thread_group threads;
  for (int i = 0; i < 4; ++i) {
    threads.create_thread([&] {
      for (int round = 0; round < 50; ++round) {
        lock->lock();
        ++rounds;
        lock->unlock();
      }
    });
  }
  threads.join_all();
  CHECK(rounds == 200);
  CHECK(town.line().empty());
}

TEST_CASE("processes and threads that wait for one lock never hold it together", "[waiting][R1]") {
  Town town;
  std::atomic<int> holding = 0;
  std::atomic<int> together = 0;
  std::vector<Fence> fences;  // guarded by the lock itself
  std::vector<std::unique_ptr<DistributedLock>> locks;
  boost::thread_group threads;
  for (const char* process : {"a", "b", "c"}) {
    locks.push_back(town.lock(process));
    for (int i = 0; i < 2; ++i) {
      threads.create_thread([&, lock = locks.back().get()] {
        for (int round = 0; round < 50; ++round) {
          lock->lock();
          if (++holding > 1) ++together;
          fences.push_back(lock->fence());
          --holding;
          lock->unlock();
        }
      });
    }
  }
  threads.join_all();
  CHECK(together == 0);
  CHECK(town.line().empty());
  CHECK(fences.size() == 300);
  CHECK(std::adjacent_find(fences.begin(), fences.end(), std::greater_equal<>()) == fences.end());
  CHECK(town.store->inspect("jobs", Freshness::fresh).lock->fence >= fences.back());
}

TEST_CASE("the first in line takes over from a dead holder", "[waiting][R6][R17]") {
  Fleet fleet;
  const auto dead = fleet.process_with(fleet.store, "dead").lock("jobs");
  REQUIRE(dead->lock_try("dies"));
  const auto waiter = fleet.process_with(fleet.store, "waiter").lock("jobs");
  REQUIRE(waiter->try_lock_for(1h));
  CHECK(waiter->fence() == 2);
  CHECK(fleet.stored("jobs").line.empty());
  CHECK(fleet.stored("jobs").process == "waiter");
}

TEST_CASE("a stop of the pinger ends a wait in line", "[waiting][R12]") {
  Town town;
  const auto holder = town.lock("a");
  REQUIRE(holder->lock_try("first"));
  const auto pinger = town.pinger("b");
  DistributedLock lock(pinger, "jobs", waking_by_bell_only());
  std::optional<Errc> failure;
  boost::thread waiting([&] {
    try {
      lock.lock();
    } catch (const Error& error) {
      failure = error.errc();
    }
  });
  town.wait_for_line({"b"});
  pinger->stop();
  waiting.join();
  CHECK(failure == Errc::stopped);
  CHECK(town.line().empty());
}

TEST_CASE("a thread that holds the lock is told so, also while another of its process waits",
          "[waiting][R15][R20]") {
  Town town;
  const auto pinger = town.pinger("a");
  DistributedLock lock(pinger, "jobs", waking_by_bell_only());
  lock.lock();
  DistributedLock same(pinger, "jobs", waking_by_bell_only());
  boost::thread waiting([&] { same.lock(); });
  town.wait_for_line({"a"});
  bool told = false;
  try {
    (void)lock.try_lock_for(1s);
  } catch (const Error& error) {
    told = error.errc() == Errc::already_held;
  }
  CHECK(told);
  lock.unlock();
  waiting.join();
  CHECK(same.held());
}
