#include <catch2/catch.hpp>

#include "support/server_fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a fresh read decides whether a hold is lost", "[lifetime][R9]") {
  ServerFleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->freeze("balancer");
  REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
  SECTION("by the holder") { CHECK_FALSE(lock->still_held()); }
  SECTION("by its pinger") {
    a.pinger->ping_round();
    CHECK_FALSE(lock->held());
  }
}

TEST_CASE("a hold whose document is gone is lost, and its holder told why", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.memory.tables.remove_lock("balancer");
  a.pinger->ping_round();
  CHECK_FALSE(lock->held());
  CHECK(lock->lost() == LossReason::document_gone);
}

TEST_CASE("a hold past its deadline is lost, whatever the store says", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min);
  CHECK_FALSE(lock->still_held());
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("a loss that two threads notice is told once", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  int told = 0;
  lock->on_lost([&](LossReason) { ++told; });
  REQUIRE(lock->lock_try("x"));
  REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
  a.store->before("carried", [&] { a.pinger->ping_round(); });
  CHECK_FALSE(lock->still_held());
  CHECK(told == 1);
}
