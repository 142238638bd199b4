#include <catch2/catch.hpp>

#include "support/later_tournament.h"
#include "unit/stores/mirrored/three_processes.h"

// The later mongos on three mirrored servers, and a mirrored store in the same schedules: T1 and T7
// of docs/developer/conformance.md.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

/// Ann, bob and carol, each of whom has pinged.
struct ThreeLater {
  ThreeLater() {
    ping();
    ann.find();  // Makes the lock's document.
  }
  void ping() {
    for (LaterOnThree* one : {&ann, &bob, &carol}) one->ping();
  }
  static void claim(LaterOnThree& one) {
    one.begin_claim();
    for (const std::size_t server : kThree) one.claim_on(server);
  }
  static bool end_claim(LaterOnThree& one) {
    for (const std::size_t server : kThree) one.end_claim_on(server);
    return one.got_from_all();
  }

  MirrorFleet fleet;
  LaterOnThree ann{fleet, "ann"};
  LaterOnThree bob{fleet, "bob"};
  LaterOnThree carol{fleet, "carol"};
};

}  // namespace

TEST_CASE("T1: of two later mongos one wins the tournament, which grabs each server",
          "[mirrored][M1]") {
  ThreeLater site;
  ThreeLater::claim(site.carol);
  REQUIRE(ThreeLater::end_claim(site.carol));
  site.fleet.clock->advance(1s);
  site.carol.begin_release();
  site.carol.release_on(0);
  site.carol.release_on(1);
  REQUIRE(site.ann.find());
  REQUIRE(site.bob.find());
  ThreeLater::claim(site.ann);
  REQUIRE(site.ann.update_not_the_same());
  for (const std::size_t server : kThree) site.ann.grab_from(server);
  REQUIRE(site.ann.greatest_is_ours());
  site.carol.release_on(2);
  site.fleet.clock->advance(1s);
  ThreeLater::claim(site.bob);
  CHECK_FALSE(site.bob.update_not_the_same());
  CHECK_FALSE(site.bob.got_from_all());
  CHECK(ThreeLater::end_claim(site.ann));
}

TEST_CASE("T7: a later mongos that ends its claim late overwrites a hold, and both hold",
          "[mirrored][M1]") {
  ThreeLater site;
  ThreeLater::claim(site.ann);
  REQUIRE(site.ann.got_from_all());
  // Its thread stands still before the second write. Its process pings on.
  for (int round = 0; round < 32; ++round) {
    REQUIRE_FALSE(site.bob.find());
    if (site.bob.unchanged_for_the_window()) break;
    site.fleet.clock->advance(30s);
    site.ping();
  }
  REQUIRE(site.bob.unchanged_for_the_window());
  site.bob.force();
  ThreeLater::claim(site.bob);
  REQUIRE(site.bob.got_from_all());
  REQUIRE(ThreeLater::end_claim(site.bob));
  CHECK(ThreeLater::end_claim(site.ann));
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  CHECK(site.ann.holds());
  CHECK(site.bob.holds());
}

TEST_CASE("T7: a claim of a mirrored lock is one write, and the pings of its process protect it",
          "[mirrored][M1][M5][R2]") {
  ThreeMirrored site;
  bool rival_got_it = false;
  site.ann.members[2]->after("claim", [&] {
    for (int round = 0; round < 32; ++round) {
      site.fleet.rounds({&site.ann, &site.bob, &site.carol}, 30s);
      rival_got_it = rival_got_it || site.of_bob->lock_try("y");
    }
  });
  REQUIRE(site.of_ann->lock_try("x"));
  CHECK_FALSE(rival_got_it);
  CHECK(site.of_ann->held());
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
}
