#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_processes.h"

// The original's late writes to three mirrored servers (Part 1, lock_try, step 5), and its pings,
// and a mirrored store in the same schedules: T4 to T6 of docs/developer/conformance.md.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("T4: an original's late propagation takes a free lock, which nobody frees",
          "[mirrored][M2]") {
  ThreeOriginals site;
  site.claim_on_two_by_ann();
  site.win_by_reading(site.ann);
  // Ann stands still before it writes. Carol takes over, works, and unlocks.
  site.rounds(16min, {&site.bob, &site.carol});
  REQUIRE(site.carol.lock_try());
  REQUIRE(site.carol.unlock());
  REQUIRE(site.fleet.holders("jobs") == Names{"", "", ""});

  // Ann wakes and writes; the second server goes away. lock_try ends in an error.
  site.ann.propagate_to(0);
  site.ann.set_away(1, true);
  CHECK(thrown_by([&] { site.ann.propagate_to(1); }) == Errc::outcome_unknown);
  site.ann.set_away(1, false);
  CHECK_FALSE(site.ann.holds());
  for (int day = 0; day < 3; ++day) {
    site.rounds(24h, {&site.ann, &site.bob, &site.carol});
    CHECK_FALSE(site.bob.lock_try());
    CHECK_FALSE(site.ann.lock_try());
  }
}

TEST_CASE("T4: a mirrored lock that is claimed late is known to be held, and freed",
          "[mirrored][M2][R9]") {
  ThreeMirrored site;
  site.ann.members[2]->fail("claim", Fault::lost_request);
  site.ann.members[2]->before("claim", [&] {
    site.fleet.rounds({&site.bob, &site.carol}, 16min);
    REQUIRE(site.of_carol->lock_try("y"));
    REQUIRE(site.of_carol->unlock() == UnlockResult::released);
    site.ann.set_away(1, true);
  });
  // Its grants come too late to count, so it claims anew, from the lock that is free by then.
  REQUIRE(site.of_ann->lock_try("x"));
  CHECK(site.of_ann->held());
  CHECK(site.of_ann->fence() > 2);
  CHECK(site.fleet.holders("jobs") == Names{"ann", "", "ann"});
  site.ann.set_away(1, false);
  CHECK(site.of_ann->unlock() == UnlockResult::released);
  CHECK(site.fleet.holders("jobs") == Names{"", "", ""});
  CHECK(site.of_bob->lock_try("z"));
}

TEST_CASE("T5: an original's late propagation overwrites a hold, and both hold", "[mirrored][M1]") {
  ThreeOriginals site;
  site.claim_on_two_by_ann();
  site.win_by_reading(site.ann);
  site.rounds(16min, {&site.bob, &site.carol});
  REQUIRE(site.carol.lock_try());
  REQUIRE(site.fleet.holders("jobs") == Names{"carol", "carol", "carol"});

  site.propagate(site.ann);
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  CHECK(site.ann.holds());
  CHECK(site.carol.holds());
}

TEST_CASE("T5: a claim of a mirrored lock that comes late takes nothing from who holds by then",
          "[mirrored][M1][M2]") {
  ThreeMirrored site;
  const Fault fault = GENERATE(Fault::lost_request, Fault::delayed);
  site.ann.members[2]->fail("claim", fault);
  site.ann.members[2]->before("claim", [&] {
    site.fleet.rounds({&site.bob, &site.carol}, 16min);
    REQUIRE(site.of_carol->lock_try("y"));
  });
  CHECK_FALSE(site.of_ann->lock_try("x"));
  site.ann.members[2]->deliver();
  CHECK_FALSE(site.of_ann->held());
  CHECK(site.of_carol->held());
  CHECK(site.fleet.holders("jobs") == Names{"carol", "carol", "carol"});
  CHECK(site.of_carol->fence() > 1);
}

TEST_CASE("T6: a server that is away for long costs a living original its lock", "[mirrored][M2]") {
  ThreeOriginals site;
  REQUIRE(site.carol.lock_try());
  // Every write needs all three servers, and so does every ping.
  for (OriginalOnThree* one : {&site.ann, &site.carol}) one->set_away(2, true);
  for (int round = 0; round < 32; ++round) {
    site.fleet.clock->advance(30s);
    CHECK(thrown_by([&] { site.carol.ping(); }) == Errc::not_applied);
  }
  for (OriginalOnThree* one : {&site.ann, &site.carol}) one->set_away(2, false);
  // Ann comes before carol's next ping.
  CHECK(site.ann.lock_try());
  CHECK(site.ann.holds());
  CHECK(site.carol.holds());
}

TEST_CASE("T6: a member that is away for long costs a living holder nothing",
          "[mirrored][M2][M5]") {
  ThreeMirrored site;
  REQUIRE(site.of_carol->lock_try("x"));
  for (const MirrorProcess* one : {&site.ann, &site.carol}) one->set_away(2, true);
  for (int round = 0; round < 32; ++round) {
    site.fleet.clock->advance(30s);
    site.carol.pinger->ping_round();
    REQUIRE(site.of_carol->held());
  }
  for (const MirrorProcess* one : {&site.ann, &site.carol}) one->set_away(2, false);
  CHECK_FALSE(site.of_ann->lock_try("y"));
  CHECK(site.of_carol->held());
  CHECK(site.fleet.holders("jobs") == Names{"carol", "carol", "carol"});
}
