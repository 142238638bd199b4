#include <catch2/catch.hpp>

#include "unit/stores/mirrored/held_on_two.h"

// A hold that a member brings back although it has ended (M4).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Its process has ended, so nobody frees it there.
TEST_CASE("a hold that ended while a member was away keeps nobody from the lock once all have met",
          "[mirrored][M3][M4]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  {
    const auto lock = ann.lock("jobs");
    REQUIRE(lock->lock_try("x"));
    ann.set_away(2, true);
    REQUIRE(lock->unlock() == UnlockResult::released);
  }
  REQUIRE(fleet.holders("jobs") == Names{"", "", "ann"});
  const auto lock = bob.lock("jobs");
  SECTION("by a claim") {
    REQUIRE(lock->lock_try("y"));
    CHECK(fleet.holders("jobs") == Names{"bob", "bob", "bob"});
  }
  SECTION("by a claim from the process's own release") {
    bob.pinger->ping_round();
    bob.set_away(2, true);
    REQUIRE(lock->lock_try("y"));
    REQUIRE(lock->unlock() == UnlockResult::released);
    bob.set_away(2, false);
    REQUIRE(fleet.holders("jobs") == Names{"", "", "ann"});
    REQUIRE(lock->lock_try("z"));
    CHECK(fleet.holders("jobs") == Names{"bob", "bob", "bob"});
  }
  SECTION("by the rounds of the next holder") {
    bob.set_away(2, true);
    REQUIRE(lock->lock_try("y"));
    bob.set_away(2, false);
    fleet.rounds({&bob}, 60s);
    CHECK(fleet.holders("jobs") == Names{"bob", "bob", "bob"});
  }
  REQUIRE(lock->unlock() == UnlockResult::released);
  bob.set_away(0, true);
  CHECK(lock->lock_try("with the other two"));
}
