#include "distlock/pinger.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("one ping an interval, whatever the number of locks", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  std::vector<std::unique_ptr<DistributedLock>> locks;
  for (int i = 0; i < 1000; ++i) {
    locks.push_back(a.lock("lock" + std::to_string(i)));
    REQUIRE(locks.back()->lock_try("x"));
  }
  a.pinger->ping_round();
  a.store->forget_calls();
  fleet.clock->advance(30s);
  CHECK(a.pinger->ping_round() == fleet.clock->steady_now() + 30s);
  CHECK(a.store->calls("ping") == 1);
  CHECK(a.store->calls("holds") == 1);
  CHECK(a.store->calls() == 2);
  CHECK(locks.front()->valid_until() == locks.back()->valid_until());
  CHECK(locks.front()->valid_until() > fleet.clock->steady_now() + 14min);
}

TEST_CASE("a failed ping is tried again within the interval", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  for (const Fault fault : {Fault::rejected, Fault::lost_request, Fault::lost_reply}) {
    a.store->fail("ping", fault);
    CHECK(a.pinger->ping_round() == fleet.clock->steady_now() + 7500ms);
  }
  CHECK(a.pinger->ping_round() == fleet.clock->steady_now() + 30s);
}

TEST_CASE("a ping of unknown outcome does not move the deadline", "[pinger][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const SteadyTime before = lock->valid_until();
  fleet.clock->advance(30s);
  a.store->fail("ping", Fault::lost_reply);
  a.pinger->ping_round();
  CHECK(lock->valid_until() == before);
  a.pinger->ping_round();
  CHECK(lock->valid_until() == before + 30s);
}

TEST_CASE("a ping counts from before it was sent", "[pinger][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const SteadyTime before = lock->valid_until();
  a.store->before("ping", [&] { fleet.clock->advance(8s); });
  a.pinger->ping_round();
  CHECK(lock->valid_until() == before);
}

TEST_CASE("a store that is away for ten minutes costs no hold", "[pinger][R9][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("ping", Fault::lost_request, 80);
  const auto rival = fleet.process("b").lock("balancer");
  for (const SteadyTime back = fleet.clock->steady_now() + 10min;
       fleet.clock->steady_now() < back;) {
    fleet.clock->wait_until(a.pinger->ping_round(), {});
    CHECK(lock->held());
  }
  a.pinger->ping_round();
  fleet.clock->advance(14min);
  CHECK(lock->held());
  CHECK_FALSE(rival->lock_try("y"));
}

TEST_CASE("a hold that began after failed pings is kept alive like any other", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("ping", Fault::lost_request, 3);
  for (int i = 0; i < 3; ++i) a.pinger->ping_round();
  REQUIRE(lock->unlock() == UnlockResult::released);
  REQUIRE(lock->lock_try("y"));
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
  }
  CHECK(lock->held());
}

TEST_CASE("old pings are forgotten about hourly", "[pinger][R13]") {
  Fleet fleet;
  const auto gone = fleet.process("gone");
  gone.pinger->ping_round();
  const auto dead = fleet.process("dead");
  const auto held = dead.lock("balancer");
  REQUIRE(held->lock_try("x"));
  fleet.clock->advance(96h);
  const auto a = fleet.process("a");

  SECTION("those older than four days that protect nothing") {
    fleet.clock->advance(1ms);
    a.pinger->ping_round();
    const auto pings = fleet.store->list().pings;
    REQUIRE(pings.size() == 2);
    CHECK(pings[0].id == "a");
    CHECK(pings[1].id == "dead");
  }
  SECTION("none of four days") {
    a.pinger->ping_round();
    CHECK(fleet.store->list().pings.size() == 3);
  }
  SECTION("and that is not looked into at every ping") {
    for (int i = 0; i < 120; ++i) {
      a.pinger->ping_round();
      fleet.clock->advance(30s);
    }
    CHECK(a.store->calls("forget_pings") >= 1);
    CHECK(a.store->calls("forget_pings") <= 3);
  }
}

TEST_CASE("pings without a clock are kept for four days, not less", "[pinger][R13]") {
  Fleet fleet;
  const StoreTime now = fleet.store->list().now.time;
  fleet.memory.tables.put_ping({{"_id", std::string("old")}, {"ping", now - 96h}});
  CHECK(fleet.store->forget_pings(96h) == 0);
  fleet.clock->advance(1ms);
  CHECK(fleet.store->forget_pings(96h) == 1);
}

TEST_CASE("a failing cleanup does not stop the pings", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->fail("forget_pings", Fault::lost_request);
  CHECK(a.pinger->ping_round() == fleet.clock->steady_now() + 30s);
  a.pinger->ping_round();
  CHECK(a.store->calls("forget_pings") == 1);
}

TEST_CASE("the ping thread pings by itself and stops at once", "[pinger][R12]") {
  const auto store = make_memory_store();
  std::string process;
  {
    const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
    process = pinger->process();
    // Waits for the thread's first round; a lock needs it.
    DistributedLock lock(pinger, "balancer");
    REQUIRE(lock.lock_try("x"));
    CHECK(store->list().pings.size() == 1);
    REQUIRE(lock.unlock() == UnlockResult::released);
    // Leaving joins a thread that has 30 s to wait; the test's time-out is the bound.
  }
  CHECK(store->list().pings.empty());
  CHECK(std::count(process.begin(), process.end(), ':') == 2);
}

TEST_CASE("a ping thread survives a store that fails", "[pinger][R12]") {
  using distlock::testing::FaultyStore;
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  store->fail("ping", Fault::lost_request, 3);
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                              PingerOptions{.ping_every = 4ms});
  DistributedLock lock(pinger, "balancer",
                       {.takeover_after = 1min, .poll_min = 1ms, .poll_max = 2ms});
  CHECK(lock.try_lock_for(20s));
}

// Two callers of ping_round(): "all functions may be called from any thread" (run under TSan).
TEST_CASE("rounds of two threads do not race", "[pinger][R12][tsan]") {
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = make_memory_store()},
      PingerOptions{.ping_every = 1ms, .forget_every = 1ms});
  for (int i = 0; i < 200; ++i) {
    pinger->ping_round();
    boost::this_thread::yield();
  }
}

TEST_CASE("one connection string has one pinger in a process", "[pinger]") {
  const ConnectionString config{"memory:"};
  const auto first = DistributedLockPinger::got(config);
  CHECK(DistributedLockPinger::got(config) == first);
}

TEST_CASE("a pinger without a clock goes by the host's", "[pinger]") {
  DistributedLockPinger pinger(Environment{.store = make_memory_store(), .clock = nullptr}, {},
                               PingerDrive::caller);
  pinger.ping_round();
  CHECK(pinger.store().list().pings.size() == 1);
}

TEST_CASE("a pinger without a store or with bad options is refused", "[pinger][input]") {
  CHECK(thrown_by([&] { return DistributedLockPinger(Environment{}); }) == Errc::invalid_argument);
  // The longest is more than nanoseconds count.
  for (const auto ping_every : {std::chrono::milliseconds{0}, std::chrono::milliseconds::max()}) {
    CHECK(thrown_by([&] {
            return DistributedLockPinger(Environment{.store = make_memory_store()},
                                         PingerOptions{.ping_every = ping_every});
          }) == Errc::invalid_argument);
  }
}
