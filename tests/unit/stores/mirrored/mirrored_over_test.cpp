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

// The hold is over on the member where the release comes last, and the rival takes it there.
TEST_CASE("a release behind which a rival takes the lock has released it", "[mirrored][M2][R3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto rival = bob.lock("jobs");
  REQUIRE(rival->lock_try("y"));
  REQUIRE(rival->unlock() == UnlockResult::released);
  const auto lock = ann.lock("jobs");
  ann.members[1]->fail("claim", Fault::rejected);
  REQUIRE(lock->lock_try("x"));
  REQUIRE(fleet.holders("jobs") == Names{"ann", "", "ann"});
  const bool in_time = GENERATE(true, false);
  if (!in_time) fleet.clock->advance(16min);
  const bool answer_is_lost = GENERATE(false, true);
  if (answer_is_lost) ann.members[0]->fail("release", Fault::lost_reply);
  ann.members[2]->before("release", [&] {
    REQUIRE(rival->lock_try("y"));
    REQUIRE(rival->unlock() == UnlockResult::released);
    REQUIRE(rival->lock_try("y"));
    REQUIRE(fleet.holders("jobs") == Names(3, "bob"));
  });
  CHECK(lock->unlock() == (in_time ? UnlockResult::released : UnlockResult::not_ours));
  CHECK(rival->held());
}

// An operator frees a hold on two members, and a rival gets the lock there.
TEST_CASE("an unlock of a hold that somebody else has ended on a majority is not called released",
          "[mirrored][M2][R3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  ann.pinger->ping_round();
  const bool repaired = GENERATE(false, true);
  if (repaired) ann.set_away(1, true);
  REQUIRE(lock->lock_try("x"));
  ann.set_away(1, false);
  fleet.rounds({&ann}, 60s);
  REQUIRE(fleet.holders("jobs") == Names(3, "ann"));
  for (const std::size_t member : {1, 2}) {
    REQUIRE(fleet.stores[member].store->release("jobs", *lock->record().ts) ==
            ReleaseResult::freed);
  }
  bob.set_away(0, true);
  const auto rival = bob.lock("jobs");
  REQUIRE(rival->lock_try("y"));
  CHECK(lock->unlock() == UnlockResult::not_ours);
  CHECK(rival->held());
}
