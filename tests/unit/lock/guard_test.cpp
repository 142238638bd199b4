// The guards: what they wait for, what they say, and which hold they end.
#include <catch2/catch.hpp>

#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a guard waits until the lock is free", "[lock][waiting][R15]") {
  Fleet fleet;
  const auto first = fleet.process("a").lock("balancer");
  REQUIRE(first->lock_try("x"));
  const auto b = fleet.process("b");
  const auto second = b.lock("balancer");
  // Freed between its first look and its second.
  b.store->before("inspect", [&] {
    b.store->before("inspect", [&] { CHECK(first->unlock() == UnlockResult::released); });
  });
  {
    const dist_lock held(*second, 5s, "y");
    REQUIRE(held);
    CHECK(held.got());
    CHECK(held.fence() == 2);
    CHECK(fleet.stored("balancer").why == "y");
    CHECK(fleet.clock->waited() > 0s);
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a guard that waits in vain names the holder and frees nothing", "[lock][waiting][R3]") {
  Fleet fleet;
  const auto first = fleet.process("a").lock("balancer");
  REQUIRE(first->lock_try("x"));
  const auto second = fleet.process("b").lock("balancer");
  std::stop_source stop;
  SECTION("for its time") {
    const dist_lock held(*second, 5s, "y");
    CHECK_FALSE(held);
    CHECK(held.other().process == "a");
    CHECK(held.fence() == 0);
    CHECK(fleet.clock->waited() == 5s);
  }
  SECTION("for no time") {
    const dist_lock held(*second, 0s);
    CHECK(held.other().why == "x");
    CHECK(fleet.clock->waited() == 0s);
  }
  SECTION("until a stop is requested") {
    stop.request_stop();
    CHECK_FALSE(dist_lock(*second, stop.get_token(), "y").got());
    CHECK_FALSE(dist_lock(*second, 5s, stop.get_token(), "y").got());
    CHECK(fleet.clock->waited() == 0s);
  }
  CHECK(fleet.stored("balancer").taken());
  CHECK(first->held());
}

TEST_CASE("a guard with a stop token waits without a limit", "[lock][waiting][R15]") {
  Fleet fleet;
  const auto first = fleet.process("a").lock("balancer");
  REQUIRE(first->lock_try("x"));
  const auto second = fleet.process("b").lock("balancer");
  std::stop_source stop;
  const dist_lock held(*second, stop.get_token(), "y");
  CHECK(held);
  CHECK(fleet.clock->waited() >= 16min);
}

TEST_CASE("a guard frees its own hold and no later one", "[lock][R3]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  {
    const dist_lock early(*lock, 0s);
    REQUIRE(early);
    CHECK(lock->unlock() == UnlockResult::released);
    REQUIRE(lock->lock_try("later"));
  }
  CHECK(lock->held());
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("a guard that was moved from frees nothing", "[lock][R3]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  dist_lock from(*lock, 0s, "x");
  {
    const dist_lock to(std::move(from));
    CHECK_FALSE(from.got());
    CHECK(from.fence() == 0);
    CHECK(to.got());
    CHECK(to.fence() == 1);
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
  REQUIRE(lock->lock_try("later"));
  // The rest of `from` is destroyed at the end of the test, after this hold was looked at.
  { const dist_lock rest(std::move(from)); }
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("a guard that was moved still names the holder", "[lock]") {
  Fleet fleet;
  const auto first = fleet.process("a").lock("balancer");
  REQUIRE(first->lock_try("x"));
  const auto second = fleet.process("b").lock("balancer");
  dist_lock_try from(second.get(), "y");
  const dist_lock_try to(std::move(from));
  CHECK_FALSE(to.got());
  CHECK(to.other().process == "a");
}

TEST_CASE("a guard passes on that the store failed", "[lock][waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->fail("inspect", Fault::rejected, 100000);
  CHECK(thrown_by([&] { return dist_lock(*lock, 5s); }) == Errc::not_applied);
  CHECK(fleet.clock->waited() == 5s);
}

TEST_CASE("a guard whose wait is stopped names the holder", "[lock][waiting][R15]") {
  Fleet fleet;
  const auto first = fleet.process("a").lock("balancer");
  REQUIRE(first->lock_try("x"));
  const auto b = fleet.process("b");
  const auto second = b.lock("balancer");
  std::stop_source stop;
  // In its second look.
  b.store->before("inspect", [&] { b.store->before("inspect", [&] { stop.request_stop(); }); });
  const dist_lock held(*second, stop.get_token(), "y");
  CHECK_FALSE(held);
  CHECK(held.other().process == "a");
}

TEST_CASE("a guard's fence is that of its own hold, also once that has ended", "[lock][R3][R10]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const dist_lock_try first(lock.get(), "first");
  REQUIRE(first.got());
  fleet.clock->advance(15min + 40s);
  a.pinger->ping_round();
  const dist_lock_try second(lock.get(), "second");
  REQUIRE(second.got());
  CHECK(second.fence() == 2);
  CHECK(first.fence() == 1);
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK_NOTHROW(first.fence());
}

TEST_CASE("a guard with a stop token states its reason", "[lock][R14][R15]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  const std::stop_source stop;
  const dist_lock held(*lock, stop.get_token(), "until a stop");
  REQUIRE(held);
  CHECK(fleet.stored("balancer").why == "until a stop");
}
