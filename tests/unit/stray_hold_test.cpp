#include <catch2/catch.hpp>

#include "support/fleet.h"
#include "support/late_reply.h"

using namespace distlock;
using namespace std::chrono_literals;
using distlock::testing::Fleet;
using distlock::testing::LateReply;

TEST_CASE("a claim during a round is no stray hold", "[unknown_outcome][R8]") {
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<LateReply>(fleet.store), "a");
  const auto lock = a.lock("balancer");
  SECTION("though its reply is on its way when the round begins") {
    a.store->after_claim = [&] { a.pinger->ping_round(); };
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
