#include <catch2/catch.hpp>

#include "unit/stores/mirrored/three_processes.h"

// The original on three mirrored servers, where the greatest `ts` wins (Part 1, lock_try, step 5),
// and a mirrored store in the same schedules: T1 to T3 of docs/developer/conformance.md.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("T1: two originals win one tournament without any fault, and both hold",
          "[mirrored][M1]") {
  ThreeOriginals site;
  REQUIRE(site.carol.lock_try());
  site.fleet.clock->advance(1s);
  // Carol's release has come to two servers.
  site.carol.begin_release();
  site.carol.release_on(0);
  site.carol.release_on(1);
  REQUIRE(site.ann.find());
  REQUIRE(site.bob.find());
  site.ann.begin_claim();
  for (const std::size_t server : kThree) site.ann.claim_on(server);
  site.win_by_reading(site.ann);
  // It comes to the third, where bob, who began a second later, finds the lock free.
  site.carol.release_on(2);
  REQUIRE_FALSE(site.carol.update_not_the_same());
  site.fleet.clock->advance(1s);
  site.bob.begin_claim();
  for (const std::size_t server : kThree) site.bob.claim_on(server);
  site.win_by_reading(site.bob);
  site.propagate(site.ann);
  site.propagate(site.bob);
  CHECK(site.ann.holds());
  CHECK(site.bob.holds());
  CHECK(site.fleet.holders("jobs") == Names{"bob", "bob", "bob"});
}

TEST_CASE("T1: of two claims of a mirrored lock one is held, while its release is under way",
          "[mirrored][M1][M2]") {
  ThreeMirrored site;
  REQUIRE(site.of_carol->lock_try("x"));
  site.carol.members[2]->fail("release", Fault::delayed);
  REQUIRE(site.of_carol->unlock() == UnlockResult::released);
  REQUIRE(site.fleet.holders("jobs") == Names{"", "", "carol"});
  // Bob has looked. Ann claims before it, and then the release comes to the third member.
  site.bob.members[0]->before("claim", [&] {
    REQUIRE(site.of_ann->lock_try("y"));
    site.carol.members[2]->deliver();
    site.fleet.clock->advance(1s);
  });
  CHECK_FALSE(site.of_bob->lock_try("z"));
  CHECK(site.of_ann->held());
  CHECK_FALSE(site.of_bob->held());
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
}

TEST_CASE("T2: two originals win one tournament where a server lost an update, and both hold",
          "[mirrored][M1]") {
  ThreeOriginals site;
  site.bob.find();
  site.claim_on_two_by_ann();
  site.win_by_reading(site.ann);
  // Bob, who had seen the lock free, is later, and finds the third server free.
  site.fleet.clock->advance(1s);
  site.bob.begin_claim();
  for (const std::size_t server : kThree) site.bob.claim_on(server);
  site.win_by_reading(site.bob);
  site.propagate(site.ann);
  site.propagate(site.bob);
  CHECK(site.ann.holds());
  CHECK(site.bob.holds());
}

TEST_CASE("T2: of two claims of a mirrored lock one is held, though a member lost one of them",
          "[mirrored][M1][M2]") {
  ThreeMirrored site;
  const std::size_t lost_on = GENERATE(0, 2);
  site.ann.members[lost_on]->fail("claim", Fault::lost_request);
  // Bob, who has seen the lock free, claims it a second after ann.
  site.bob.members[0]->before("claim", [&] {
    REQUIRE(site.of_ann->lock_try("x"));
    site.fleet.clock->advance(1s);
  });
  CHECK_FALSE(site.of_bob->lock_try("y"));
  // Bob got the first member where it was free, and gave it back.
  CHECK(site.bob.members[0]->calls("release") == (lost_on == 0 ? 1 : 0));
  CHECK(site.of_ann->held());
  const bool first = lost_on == 0;
  CHECK(site.fleet.holders("jobs") == (first ? Names{"", "ann", "ann"} : Names{"ann", "ann", ""}));
  site.fleet.rounds({&site.ann, &site.bob}, 40min);
  CHECK(site.of_ann->held());
  CHECK_FALSE(site.of_bob->lock_try("y"));
}

TEST_CASE("T3: a release that one server did not hear beats later originals, and wedges the lock",
          "[mirrored][M2]") {
  ThreeOriginals site;
  site.carol.set_clock_off(1min);
  REQUIRE(site.carol.lock_try());
  // Its release gets lost on the way to the third server, which then goes away for a while.
  site.carol.lose_next_write(2);
  CHECK_FALSE(site.carol.unlock_attempt(1));
  site.carol.set_away(2, true);
  CHECK_FALSE(site.carol.unlock_attempt(2));
  CHECK_FALSE(site.carol.unlock_attempt(3));
  site.carol.set_away(2, false);
  site.rounds(30s, {&site.ann, &site.bob, &site.carol});

  // Ann gets two servers, and loses to what is left of carol's hold: its `ts` is later.
  CHECK_FALSE(site.ann.lock_try());
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", "carol"});
  // Nobody holds the lock, and nobody gets it for as long as ann lives.
  for (int day = 0; day < 3; ++day) {
    site.rounds(24h, {&site.ann, &site.bob, &site.carol});
    for (OriginalOnThree* one : {&site.ann, &site.bob, &site.carol}) {
      CHECK_FALSE(one->lock_try());
      CHECK_FALSE(one->holds());
    }
  }
}

TEST_CASE("T3: a mirrored lock whose release one member did not hear is claimed by the next",
          "[mirrored][M2]") {
  ThreeMirrored site;
  site.clock_of_carol->set_wall_off(1min);
  REQUIRE(site.of_carol->lock_try("x"));
  site.carol.members[2]->fail("release", Fault::lost_request);
  site.carol.members[2]->after("release", [&] { site.carol.set_away(2, true); });
  CHECK(site.of_carol->unlock() == UnlockResult::released);
  site.carol.set_away(2, false);
  CHECK(site.fleet.holders("jobs") == Names{"", "", "carol"});

  REQUIRE(site.of_ann->lock_try("y"));
  CHECK(site.of_ann->fence() > 1);
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  site.fleet.rounds({&site.ann, &site.bob, &site.carol}, 2min);
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  CHECK(site.of_ann->unlock() == UnlockResult::released);
  CHECK(site.of_bob->lock_try("z"));
}
