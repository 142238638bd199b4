#include <catch2/catch.hpp>

#include "support/fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a claim during a round is no stray hold", "[unknown_outcome][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  SECTION("though its reply is on its way when the round begins") {
    a.store->after("claim", [&] { a.pinger->ping_round(); });
    REQUIRE(lock->lock_try("x"));
  }
  SECTION("though it begins after the round") {
    a.store->before("holds", [&] { REQUIRE(lock->lock_try("x")); });
    a.pinger->ping_round();
  }
  CHECK(a.pinger->stats().pending_releases == 0);
  a.pinger->ping_round();
  CHECK(lock->still_held());
}

// Before the claim the store has the old hold, after it the new one: both are this object's.
TEST_CASE("a hold that is claimed anew during a round is no stray hold",
          "[unknown_outcome][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  a.pinger->watch_round();
  REQUIRE(lock->lost() == LossReason::deadline_passed);
  a.store->forget_calls();
  const auto round = [&] {
    a.pinger->ping_round();
    CHECK(a.pinger->stats().pending_releases == 0);
  };
  SECTION("before the claim takes effect") { a.store->before("claim", round); }
  SECTION("before its reply comes") { a.store->after("claim", round); }
  SECTION("by reclaim()") { CHECK(lock->reclaim("y")); }
  SECTION("by the same thread's lock_try()") { CHECK(lock->lock_try("y")); }
  if (!lock->held()) CHECK(lock->reclaim("y"));
  CHECK(a.pinger->stats().pending_releases == 0);
  CHECK(a.store->calls("release") == 0);
  CHECK(lock->still_held());
}

// Pings of its process would keep it from everybody, for as long as the wait goes on.
TEST_CASE("the old hold of a waiter is a stray once its release is undone",
          "[waiting][unknown_outcome][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const Document before = fleet.memory.tables.raw_lock("balancer").value();
  fleet.clock->advance(16min);
  a.pinger->watch_round();
  a.store->fail("claim", Fault::rejected);
  bool undone = false;
  a.store->after("stand", [&] {
    a.pinger->ping_round();
    REQUIRE_FALSE(fleet.stored("balancer").taken());
    fleet.memory.tables.put_lock(before);
    undone = true;
    a.pinger->ping_round();
    CHECK_FALSE(fleet.stored("balancer").taken());
  });
  REQUIRE(lock->try_lock_for(1h));
  CHECK(undone);
}

TEST_CASE("a hold that is being released is no stray hold", "[unknown_outcome][R3][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->before("release", [&] {
    a.pinger->ping_round();
    CHECK(a.pinger->stats().pending_releases == 0);
  });
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(a.store->calls("release") == 1);
}
