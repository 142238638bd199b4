#include <catch2/catch.hpp>
#include <string>

#include "support/mirror_fleet.h"
#include "support/tampering.h"

// A hold that somebody edits on one member (R14, M9).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Ann holds "jobs" on all members, and one of them names another process.
struct NamedByOne {
  explicit NamedByOne(const std::string& other) {
    bob.pinger->ping_round();
    REQUIRE(held->lock_try("x"));
    tamper(fleet.stores[member].tables, "jobs", "process", other);
  }

  const std::size_t member = GENERATE(as<std::size_t>(), 0, 1, 2);
  MirrorFleet fleet;
  const MirrorProcess ann = fleet.process("ann");
  const MirrorProcess bob = fleet.process("bob");
  const std::unique_ptr<DistributedLock> held = ann.lock("jobs");
};

}  // namespace

TEST_CASE("a hold that one member says to be of another process is no stray of that one",
          "[mirrored][R8][M1]") {
  const NamedByOne scene("bob");
  SECTION("at a claim") { CHECK_FALSE(scene.bob.lock("jobs")->lock_try("y")); }
  SECTION("at its rounds") {
    for (int i = 0; i < 3; ++i) scene.bob.pinger->ping_round();
  }
  CHECK(scene.held->still_held());
  CHECK_FALSE(scene.bob.lock("jobs")->lock_try("y"));
}

TEST_CASE("a hold that one member says to be of a dead process is written to it again",
          "[mirrored][M5][M9]") {
  NamedByOne scene("eve");
  scene.fleet.rounds({&scene.ann}, 2min);
  CHECK(scene.fleet.holders("jobs") == std::vector<std::string>(3, "ann"));
  CHECK(scene.held->held());
}

TEST_CASE("a member that says a hold to be of another process protects it no more",
          "[mirrored][M5]") {
  NamedByOne scene("eve");
  scene.ann.members[scene.member]->during_each_call([](const std::string& call) {
    if (call == "claim") throw Error(Errc::not_applied, "no repair");
  });
  scene.ann.set_away((scene.member + 1) % 3, true);
  scene.fleet.rounds({&scene.ann}, 16min);
  CHECK_FALSE(scene.held->held());
}
