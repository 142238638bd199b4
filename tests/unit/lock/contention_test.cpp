// One lock_try() beside other contenders: they are quicker, the document that it looked at is gone,
// or the store fails in the middle.
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <mutex>

#include "support/dead_holder.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("lock_try asks once and never waits", "[lock][cost]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->forget_calls();

  SECTION("when it gets the lock") {
    CHECK(lock->lock_try("x"));
    CHECK(a.store->calls("claim") == 1);
  }
  SECTION("when the lock is busy") {
    const auto held = fleet.process("b").lock("other");
    REQUIRE(held->lock_try("y"));
    CHECK_FALSE(a.lock("other")->lock_try("x"));
    CHECK(a.store->calls("inspect") == 1);
  }
  SECTION("when the store fails") {
    a.store->fail("claim", Fault::rejected);
    CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::not_applied);
    CHECK(a.store->calls("claim") == 1);
  }
  CHECK(a.store->calls() == 1);
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("a refused lock_try changes nothing", "[lock][R6]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto before = fleet.memory.tables.raw_lock("balancer");
  const auto ping_before = fleet.memory.tables.raw_ping("a");
  const auto contender = fleet.process("b").lock("balancer");
  for (int i = 0; i < 3; ++i) {
    fleet.clock->advance(5min);
    CHECK_FALSE(contender->lock_try("y"));
  }
  CHECK(fleet.memory.tables.raw_lock("balancer") == before);
  CHECK(fleet.memory.tables.raw_ping("a") == ping_before);
}

TEST_CASE("a look that fails is an error, and nothing is claimed", "[lock][R6][R8]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process("b");
  b.store->always_fresh = false;
  const auto contender = b.lock("balancer");
  SECTION("the first one") { b.store->fail("inspect", Fault::rejected); }
  SECTION("the one that a takeover is judged on") {
    b.store->before("inspect", [&] {
      b.store->before("inspect", [&] { b.store->fail("inspect", Fault::rejected); });
    });
  }
  CHECK(thrown_by([&] { return contender->lock_try("y"); }) == Errc::not_applied);
  CHECK(b.store->calls("claim") == 0);
  CHECK(fleet.stored("balancer").process == "dead");
}

TEST_CASE("lock_try says busy after three lost races", "[lock][R2]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto slow = a.lock("balancer");
  const auto quick = fleet.process("b").lock("balancer");
  make_known_free(*quick);
  std::function<void()> outrun = [&] {
    make_known_free(*quick);
    a.store->before("claim", outrun);
  };
  a.store->before("claim", outrun);
  LockRecord other;
  CHECK_FALSE(slow->lock_try("x", &other));
  CHECK(a.store->calls("claim") == 3);
  CHECK(a.store->calls("release") == 0);
  CHECK(other.process == "b");
  CHECK(fleet.clock->waited() == 0s);
  a.store->before("claim", {});
}

TEST_CASE("a delayed claim from a free lock finds nothing once another has held it",
          "[lock][R2][R8]") {
  Fleet fleet;
  // Its clock stands still, so that no cutoff passes.
  fleet.store = make_memory_store(std::make_shared<ManualClock>());
  const auto a = fleet.process("a");
  const auto known = a.lock("balancer");
  make_known_free(*known);
  const auto unknown = a.lock("balancer");
  const auto next = fleet.process("b").lock("balancer");
  a.store->fail("claim", Fault::delayed);
  a.store->before("claim", [&] { a.store->fail("inspect", Fault::rejected, 2); });
  SECTION("by its own last release") {
    CHECK(thrown_by([&] { return known->lock_try("x"); }) == Errc::outcome_unknown);
  }
  SECTION("by a look") {
    CHECK(thrown_by([&] { return unknown->lock_try("x"); }) == Errc::outcome_unknown);
  }
  make_known_free(*next);
  a.store->deliver();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

// At each round another one has got the dead lock, and has died at once.
TEST_CASE("watching begins anew with every new holder", "[lock][R6]") {
  Fleet fleet;
  const LockOptions watching{.takeover_rule = TakeoverRule::watched};
  const auto watcher = fleet.process("watcher").lock("balancer", watching);
  const auto first = fleet.process("p0").lock("balancer");
  REQUIRE(first->lock_try("x"));
  std::vector<std::unique_ptr<DistributedLock>> dead;
  for (int round = 1; round <= 5; ++round) {
    CHECK_FALSE(watcher->lock_try("y"));
    fleet.clock->advance(16min);
    dead.push_back(fleet.process("p" + std::to_string(round)).lock("balancer"));
    REQUIRE(dead.back()->lock_try("x"));
  }
  CHECK_FALSE(watcher->lock_try("y"));
  fleet.clock->advance(16min);
  CHECK(watcher->lock_try("y"));
}

TEST_CASE("a lock whose document vanishes under a takeover is claimed from nothing", "[lock][R2]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process("b");
  b.store->before("claim", [&] { fleet.memory.tables.clear(); });
  const auto contender = b.lock("balancer");
  REQUIRE(contender->lock_try("y"));
  CHECK(contender->fence() == 1);
  CHECK(b.store->calls("claim") == 2);
  CHECK(fleet.store->list().pings.size() == 1);
}

TEST_CASE("a lock_try whose claims are all of unknown outcome ends in an error", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->forget_calls();
  a.store->fail("claim", Fault::lost_request, 100);

  SECTION("when nothing can be read back") { a.store->fail("inspect", Fault::rejected, 100); }
  SECTION("when each is read back and not there") {}
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  CHECK_FALSE(lock->held());
  CHECK(a.store->calls("claim") <= 4);
  CHECK(fleet.clock->waited() <= 4 * 11250ms);
}

TEST_CASE("a contender that begins anew before the window is over takes over all the same",
          "[lock][R6]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  fleet.clock->advance(14min);
  CHECK_FALSE(fleet.process("b1").lock("balancer")->lock_try("y"));
  fleet.clock->advance(2min);
  CHECK(fleet.process("b2").lock("balancer")->lock_try("y"));
}

TEST_CASE("a holder without a ping keeps others out until somebody frees its hold", "[lock][R7]") {
  Fleet fleet;
  const auto gone = fleet.process("gone").lock("balancer");
  REQUIRE(gone->lock_try("x"));
  const Token ts = *fleet.stored("balancer").ts;
  fleet.store->remove_ping("gone");
  fleet.clock->advance(24h * 365);
  const auto contender = fleet.process("b").lock("balancer");
  CHECK_FALSE(contender->lock_try("y"));

  SECTION("as distlock break does") {
    REQUIRE(fleet.store->release("balancer", ts) == ReleaseResult::freed);
    CHECK(contender->lock_try("y"));
  }
  SECTION("or a contender is told to let it expire") {
    const LockOptions expiring{.missing_ping = MissingPing::expire_from_when};
    CHECK(fleet.process("c").lock("balancer", expiring)->lock_try("y"));
  }
}

TEST_CASE("ten processes that wait all get their turn, one after the other", "[waiting][R1][R15]") {
  const std::shared_ptr<Store> store = make_memory_store();
  std::atomic<bool> inside{false};
  std::atomic<int> turns{0};
  std::atomic<int> overlaps{0};
  boost::thread_group threads;
  for (int i = 0; i < 10; ++i) {
    threads.create_thread([&] {
      DistributedLock lock(std::make_shared<DistributedLockPinger>(Environment{.store = store}),
                           "balancer", {.poll_min = 1ms, .poll_max = 4ms});
      for (int turn = 0; turn < 10; ++turn) {
        const std::lock_guard guard(lock);
        if (inside.exchange(true)) ++overlaps;
        for (int step = 0; step < 100; ++step) boost::this_thread::yield();
        inside = false;
        ++turns;
      }
    });
  }
  threads.join_all();
  CHECK(turns == 100);
  CHECK(overlaps == 0);
}
