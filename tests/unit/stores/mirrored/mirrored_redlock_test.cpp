#include <catch2/catch.hpp>

#include "support/mirror_fleet.h"
#include "support/redlock.h"
#include "support/thrown.h"

// Redlock as published, and a mirrored store in the same schedules: L1 to L4 of
// docs/developer/conformance.md. Both have three servers and the same window.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

constexpr std::chrono::milliseconds kWindow = 16min;

struct Redlocks {
  Names values() {
    Names all;
    for (KeyServer& server : servers) all.push_back(server.get("jobs"));
    return all;
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::vector<KeyServer> servers{3, KeyServer{clock}};
  Redlock ann{servers, clock, "ann", kWindow};
  Redlock bob{servers, clock, "bob", kWindow};
};

struct Mirrored {
  Mirrored() {
    fleet.clocks_can_step = true;
    ann = fleet.process_with(clock_of_ann, "ann");
    bob = fleet.process("bob");
    ann.pinger->ping_round();
    bob.pinger->ping_round();
    of_ann = ann.lock("jobs", {.takeover_after = kWindow});
    of_bob = bob.lock("jobs", {.takeover_after = kWindow});
  }

  MirrorFleet fleet;
  std::shared_ptr<SteppedClock> clock_of_ann = std::make_shared<SteppedClock>(fleet.clock);
  MirrorProcess ann;
  MirrorProcess bob;
  std::unique_ptr<DistributedLock> of_ann;
  std::unique_ptr<DistributedLock> of_bob;
};

/// The lock protects this. It refuses a fence below the greatest that it has seen.
struct Resource {
  bool write(Fence fence) {
    if (fence < greatest) return false;
    greatest = fence;
    return true;
  }
  Fence greatest = 0;
};

}  // namespace

TEST_CASE("L1: a server that restarts without data gives Redlock's lock to a second holder",
          "[mirrored][M6]") {
  Redlocks site;
  site.ann.set_away(2, true);
  REQUIRE(site.ann.lock());
  REQUIRE(site.values() == Names{"ann", "ann", ""});
  site.servers[1].restart_without_data();
  CHECK(site.bob.lock());
  CHECK(site.values() == Names{"ann", "bob", "bob"});
  CHECK(site.ann.holds());
  CHECK(site.bob.holds());
}

TEST_CASE("L1: a member that restarts without data makes no majority for a second holder",
          "[mirrored][M6]") {
  Mirrored site;
  site.ann.set_away(2, true);
  REQUIRE(site.of_ann->lock_try("x"));
  REQUIRE(site.fleet.holders("jobs") == Names{"ann", "ann", ""});
  site.fleet.empty(1);
  CHECK_FALSE(site.of_bob->lock_try("y"));
  CHECK(site.fleet.holders("jobs") == Names{"ann", "", ""});
  CHECK(site.of_ann->held());
  CHECK_FALSE(site.of_bob->held());
}

TEST_CASE("L2: a client of Redlock that pauses after its majority writes beside the next holder",
          "[mirrored][R10]") {
  Redlocks site;
  Resource resource;
  REQUIRE(site.ann.lock());
  // It looks at its validity, as published, and is stopped before it writes.
  REQUIRE(site.ann.holds());
  site.clock->advance(kWindow);
  REQUIRE(site.bob.lock());
  // A random value says nothing about who came first, so the resource has nothing to compare.
  const Fence none = 0;
  CHECK(resource.write(none));
  CHECK(site.bob.holds());
  CHECK(resource.write(none));  // Ann wakes.
}

TEST_CASE("L2: a mirrored holder that pauses after its majority is told, and its write refused",
          "[mirrored][R9][R10]") {
  Mirrored site;
  Resource resource;
  SECTION("before its call returns") {
    site.ann.members[2]->after("claim", [&] {
      site.fleet.clock->advance(kWindow);
      REQUIRE(site.of_bob->lock_try("y"));
    });
    bool got = false;
    thrown_by([&] { got = site.of_ann->lock_try("x"); });
    CHECK_FALSE(got);
  }
  SECTION("after it looked at its deadline") {
    REQUIRE(site.of_ann->lock_try("x"));
    REQUIRE(site.of_ann->held());
    const Fence of_ann = site.of_ann->fence();
    site.fleet.clock->advance(kWindow);
    REQUIRE(site.of_bob->lock_try("y"));
    CHECK(resource.write(site.of_bob->fence()));
    CHECK_FALSE(resource.write(of_ann));
  }
  CHECK_FALSE(site.of_ann->held());
  CHECK(site.of_bob->held());
  CHECK(site.fleet.holders("jobs") == Names{"bob", "bob", "bob"});
}

TEST_CASE("L3: a server's clock that jumps ahead gives Redlock's lock to a second holder",
          "[mirrored][R5]") {
  Redlocks site;
  site.ann.set_away(2, true);
  REQUIRE(site.ann.lock());
  site.servers[1].step_clock(kWindow);
  CHECK(site.bob.lock());
  CHECK(site.values() == Names{"ann", "bob", "bob"});
  CHECK(site.ann.holds());
  CHECK(site.bob.holds());
}

TEST_CASE("L3: a member's clock that jumps ahead makes no majority for a second holder",
          "[mirrored][M4][R5]") {
  Mirrored site;
  site.ann.set_away(2, true);
  REQUIRE(site.of_ann->lock_try("x"));
  site.fleet.clocks[1]->step(kWindow);
  CHECK_FALSE(site.of_bob->lock_try("y"));
  // Nor for one that has not seen the clock before.
  CHECK_FALSE(site.fleet.process("carol").lock("jobs")->lock_try("z"));
  CHECK(site.of_ann->held());
  CHECK(site.fleet.holders("jobs") == Names{"ann", "ann", ""});
}

TEST_CASE("L4: a client's clock that is set back while it asks outlives Redlock's keys",
          "[mirrored][R9]") {
  Redlocks site;
  site.ann.begin();
  for (const std::size_t server : {0U, 1U, 2U}) site.ann.claim_on(server);
  site.ann.step_clock(-10min);
  REQUIRE(site.ann.decide());
  site.clock->advance(kWindow);
  CHECK(site.bob.lock());
  CHECK(site.ann.holds());
  CHECK(site.bob.holds());
}

TEST_CASE("L4: a holder's clock that is set back while it asks moves no deadline",
          "[mirrored][R4][R9]") {
  Mirrored site;
  site.ann.members[2]->after("claim", [&] { site.clock_of_ann->set_wall_off(-10min); });
  REQUIRE(site.of_ann->lock_try("x"));
  CHECK(site.of_ann->remaining() < kWindow);
  site.fleet.clock->advance(kWindow);
  CHECK_FALSE(site.of_ann->held());
  CHECK(site.of_bob->lock_try("y"));
}
