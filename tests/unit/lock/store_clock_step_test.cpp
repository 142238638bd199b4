// Locks on a server whose wall clock is stepped.
#include <catch2/catch.hpp>

#include "support/server_fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a store whose clock cannot step is not asked about the wall clock", "[lock][R5]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  const auto contender = fleet.process("b").lock("balancer");
  fleet.clock->advance(16min);
  fleet.clock->set_wall_off(1h);
  CHECK(contender->lock_try("y"));
}

TEST_CASE("a step that only looks have shown refuses takeover", "[lock][R5]") {
  ServerFleet fleet;
  const auto held = fleet.process("h").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto contender = fleet.process("b").lock("balancer");
  REQUIRE_FALSE(contender->lock_try("y"));
  fleet.clock->advance(10min);
  fleet.step(15min);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(held->held());
}

TEST_CASE("a step that only pings have shown refuses takeover", "[lock][R5]") {
  ServerFleet fleet;
  const auto held = fleet.process("h").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto contender = b.lock("balancer");
  b.pinger->ping_round();
  fleet.clock->advance(10min);
  fleet.step(15min);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(held->held());
}

TEST_CASE("a step within the lock's own tolerance refuses no takeover", "[lock][R5]") {
  ServerFleet fleet;
  const auto held = fleet.process("h").lock("balancer", {.takeover_after = 2min});
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto contender = b.lock("balancer", {.takeover_after = 2min});  // 7.5 s
  REQUIRE_FALSE(contender->lock_try("y"));

  SECTION("below it") {
    fleet.step(7500ms);
    fleet.clock->advance(112500ms);
    CHECK_FALSE(held->held());
    CHECK(contender->lock_try("y"));
  }
  SECTION("above it, though below the default") {
    fleet.step(7501ms);
    fleet.clock->advance(112500ms);
    CHECK_FALSE(contender->lock_try("y"));
  }
}

// R5 looks back over the contender's window, R6 judges by the holder's larger one.
TEST_CASE("a step of the clock counts for as long as the holder's window", "[lock][R1][R5]") {
  ServerFleet fleet;
  const auto h = fleet.process("h");
  const auto held = h.lock("balancer", {.takeover_after = 1h});
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto contender = b.lock("balancer");  // 16 min
  REQUIRE_FALSE(contender->lock_try("y"));
  // The holder is cut off. Every wall clock of the site steps by 45 min, the contender's too.
  fleet.step(45min);
  for (int i = 0; i < 34; ++i) {
    fleet.clock->advance(30s);
    b.pinger->ping_round();
    REQUIRE_FALSE((contender->lock_try("y") && held->held()));
  }
  REQUIRE(held->held());
}

TEST_CASE("a step that a new contender cannot see is within the allowance", "[lock][R1][R5][R9]") {
  ServerFleet fleet;
  const auto h = fleet.process("h");
  const auto held = h.lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto contender = b.lock("balancer");  // tolerates 30 s
  fleet.server->off = 60s;
  fleet.clock->set_wall_off(30s);
  fleet.clock->advance(16min - 60s);
  const bool got = contender->lock_try("y");
  CHECK_FALSE((got && held->held()));
}
