// The fields of a pinger and of a lock object that threads share, each used by two at once. They
// show what is not guarded under ThreadSanitizer; without it, what comes of it.
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "pinger/pending_releases.h"
#include "support/faulty_store.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr int kTimes = 300;

/// Each on a thread of its own, over and over, until the first has done it so often.
void at_once(const std::vector<std::function<void(int)>>& actions) {
  std::atomic<bool> over = false;
  boost::thread_group threads;
  for (std::size_t i = 1; i < actions.size(); ++i) {
    threads.create_thread([&, i] {
      for (int n = 0; !over; ++n) actions[i](n);
    });
  }
  for (int n = 0; n < kTimes; ++n) actions[0](n);
  over = true;
  threads.join_all();
}

/// Catch's own checks are for one thread.
class Expectations {
 public:
  void operator()(bool met) {
    if (!met) ++unmet_;
  }
  int unmet() const { return unmet_; }

 private:
  std::atomic<int> unmet_ = 0;
};

struct OnePinger {
  std::shared_ptr<Store> inner = make_memory_store();
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(inner);
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store}, PingerOptions{.ping_every = 1ms});
};

}  // namespace

TEST_CASE("one lock object may be asked anything while it is locked and unlocked",
          "[lock][lifetime][R1][threads]") {
  Expectations expect;
  OnePinger world;
  DistributedLock lock(world.pinger, "balancer");
  std::atomic<int> told = 0;
  at_once({
      [&](int) {
        if (!lock.lock_try("x")) return;
        expect(lock.held());
        expect(lock.unlock() == UnlockResult::released);
      },
      [&](int) {
        try {
          expect(lock.record().taken());
          expect(lock.fence() > 0);
        } catch (const Error& error) {
          expect(error.errc() == Errc::lock_lost);
        }
      },
      [&](int) {
        expect(!lock.lost());
        expect(!lock.stop_token().stop_requested());
        static_cast<void>(lock.held());
        static_cast<void>(lock.valid_until());
        static_cast<void>(lock.still_held());
      },
      [&](int) {
        lock.on_lost([&](LossReason) { ++told; });
        lock.on_at_risk([&](SteadyTime) { ++told; });
      },
      [&](int) { world.pinger->watch_round(); },
  });
  expect(told == 0);
  CHECK(expect.unmet() == 0);
}

TEST_CASE("two threads that take turns on one object each have a whole hold",
          "[lock][lifetime][R1][R7][threads]") {
  Expectations expect;
  OnePinger world;
  DistributedLock lock(world.pinger, "balancer");
  std::atomic<int> holders = 0;
  const auto take_turns = [&](int) {
    LockRecord other;
    if (!lock.lock_try("x", &other)) {
      expect(other.name == "balancer");
      return;
    }
    expect(++holders == 1);
    // Enlisted: pinged for, and watched.
    expect(world.pinger->stats().holds == 1);
    expect(lock.held());
    --holders;
    expect(lock.unlock() == UnlockResult::released);
  };
  for (int i = 0; i < 20; ++i) at_once({take_turns, take_turns, take_turns});
  CHECK(expect.unmet() == 0);
}

TEST_CASE("losses from several sides are counted, told and logged once",
          "[lifetime][R9][threads]") {
  OnePinger world;
  DistributedLock lock(world.pinger, "balancer");
  std::atomic<int> told = 0;
  lock.on_lost([&](LossReason) { ++told; });
  int lost = 0;
  at_once({
      [&](int) {
        REQUIRE(lock.lock_try("x"));
        world.inner->release("balancer", *lock.record().ts);
        if (lock.still_held()) FAIL("it is lost");
        ++lost;
      },
      [&](int) { static_cast<void>(lock.still_held()); },
      [&](int) { static_cast<void>(lock.lost()); },
      [&](int) { world.pinger->ping_round(); },
      [&](int) { world.pinger->watch_round(); },
  });
  lock.unlock();
  const auto until = host_clock()->steady_now() + 60s;
  while (told < lost && host_clock()->steady_now() < until) boost::this_thread::yield();
  CHECK(told == lost);
}

TEST_CASE("locks come and go while the pinger pings, watches and counts",
          "[pinger][R12][threads]") {
  Expectations expect;
  OnePinger world;
  world.pinger->ping_round();
  const auto come_and_go = [&](const std::string& name) {
    DistributedLock lock(world.pinger, name);
    expect(lock.lock_try("x"));
    expect(world.pinger->stats().holds >= 1);
  };
  at_once({
      [&](int) { come_and_go("one"); },
      [&](int) { come_and_go("two"); },
      [&](int) { world.pinger->ping_round(); },
      [&](int) { world.pinger->watch_round(); },
      [&](int) { expect(world.pinger->stats().health.successes > 0); },
  });
  expect(world.pinger->stats().holds == 0);
  CHECK(expect.unmet() == 0);
}

TEST_CASE("no ping is lost between a claim and its hold", "[lock][R9][threads]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  for (int i = 0; i < kTimes; ++i) {
    fleet.clock->advance(1s);
    const SteadyTime pinged = fleet.clock->steady_now();
    boost::thread ping([&] { a.pinger->ping_round(); });
    const bool got = lock->lock_try("x");
    ping.join();
    REQUIRE(got);
    // Before another ping makes up for it.
    REQUIRE(lock->valid_until() == pinged + 16min - 70s - 960ms);
    REQUIRE(lock->unlock() == UnlockResult::released);
  }
}

TEST_CASE("a stop meets claims, rounds and other stops", "[pinger][R12][threads]") {
  Expectations expect;
  for (int i = 0; i < 30; ++i) {
    OnePinger world;
    std::atomic<bool> over = false;
    boost::thread_group threads;
    const auto repeat = [&](const std::function<void()>& action) {
      threads.create_thread([&over, action] {
        while (!over) action();
      });
    };
    for (const std::string name : {"one", "two"}) {
      repeat([&world, &expect, name] {
        DistributedLock lock(world.pinger, name);
        try {
          static_cast<void>(lock.lock_try("x"));
        } catch (const Error& error) {
          expect(error.errc() == Errc::stopped);
        }
      });
    }
    repeat([&] { world.pinger->ping_round(); });
    repeat([&] { world.pinger->stop(); });
    world.pinger->stop();
    over = true;
    threads.join_all();
    expect(world.pinger->stats().holds == 0);
  }
  CHECK(expect.unmet() == 0);
}

TEST_CASE("pending releases are added, counted and worked off at once", "[pending][R8][threads]") {
  const Environment environment{.store = make_memory_store(), .clock = host_clock()};
  Lobby lobby(environment.store, "p");
  Ringer ringer(environment, lobby);
  PendingReleases pending;
  std::atomic<int> added = 0;
  const auto add = [&](int) {
    Token ts;
    const int number = ++added;
    for (int i = 0; i < 4; ++i) ts.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
    pending.add("lock", ts);
    static_cast<void>(pending.contains(ts));
    ts.bytes[4] = 1;
    pending.add_place("lock", ts, LeaveIn::a_ring_round);
  };
  const auto leave = [&](int) {
    ChoreTime time(*host_clock(), host_clock()->steady_now() + 1min);
    static_cast<void>(pending.leave_next(environment, ringer, time));
  };
  const auto work_off = [&](int) {
    ChoreTime time(*host_clock(), host_clock()->steady_now() + 1min);
    pending.work_off(environment, ringer, time);
  };
  at_once({add, add, work_off, work_off, leave, [&](int) { static_cast<void>(pending.count()); }});
  work_off(0);
  CHECK(pending.count() == 0);
}
