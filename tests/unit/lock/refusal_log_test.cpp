// The log's reasons for what a contender does not do, or does.
#include "lock/refusal_log.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "support/captured_log.h"
#include "support/known_free.h"
#include "support/server_fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a contender says why it cannot judge a ping", "[log][R4][R5]") {
  ServerFleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto contender = fleet.process("b").lock("balancer");
  Captured log;
  SECTION("of the future") {
    fleet.server->stamped["a"].first = 1h;
    CHECK_FALSE(contender->lock_try("y"));
    CHECK(log.count(severity_level::warning, "detected clock skew of 3600000ms") == 1);
  }
  SECTION("by another clock") {
    fleet.server->stamped["a"].second = "another";
    CHECK_FALSE(contender->lock_try("y"));
    CHECK(log.count(severity_level::debug, "cannot be judged by this clock") == 1);
  }
  SECTION("by a clock that steps") {
    CHECK_FALSE(contender->lock_try("y"));
    fleet.step(16min);
    CHECK_FALSE(contender->lock_try("z"));
    CHECK(log.count(severity_level::warning, "store's clock c1 was seen to step") == 1);
  }
  CHECK(log.count(severity_level::warning, "impossible") == 0);
}

TEST_CASE("a takeover from a holder that has ended is logged", "[log][R23]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->holders_ended = true;
  Captured log;
  CHECK(b.lock("balancer")->lock_try("y"));
  CHECK(log.count(severity_level::info, "its process has ended") == 1);
}

TEST_CASE("a lock that is free is logged as taken by nobody", "[log][R2]") {
  Fleet fleet;
  make_known_free(*fleet.process("a").lock("balancer"));
  const auto contender = fleet.process("b").lock("balancer");
  Captured log;
  CHECK(contender->lock_try("y"));
  CHECK(log.count(severity_level::debug, "lock failed") == 0);
}

TEST_CASE("a takeover of what counts nowhere is logged as that", "[log][M4]") {
  const Inspection seen{.lock = LockRecord{.name = "balancer"}};
  const protocol::Judgement dead{protocol::Verdict::dead, protocol::Reason::not_counted};
  RefusalLog refusals;
  Captured log;
  refusals.judged(seen, dead);
  CHECK(log.count(severity_level::info, "no majority of the mirrored store's members") == 1);
  CHECK(log.count(severity_level::info, "forcefully") == 0);
}
