#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Members of a mirrored store whose clocks differ, or that are exchanged for a moment (M2, M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// Three members whose clocks have one name, as those of SQLite files on one machine do.
void add_members(MirrorFleet& fleet, std::chrono::milliseconds first_off) {
  for (const auto off : {first_off, 0ms, 0ms}) {
    fleet.clock->set_wall_off(off);
    fleet.stores.push_back(open_memory_store(fleet.clock, {}));
  }
  fleet.clock->set_wall_off(0ms);
}

}  // namespace

TEST_CASE("members whose clocks have one name may be any time apart", "[mirrored][M2][R4][R8]") {
  MirrorFleet fleet(0);
  add_members(fleet, GENERATE(-5h, 5h));
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  SECTION("with the first of them away a lock is to be had") {
    ann.set_away(0, true);
    CHECK(ann.lock("jobs")->lock_try("x"));
  }
  SECTION("a claim that comes past its cutoff finds nothing to claim") {
    ann.set_away(0, true);
    ann.members[1]->fail("claim", Fault::rejected);
    ann.members[2]->fail("claim", Fault::delayed);
    Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{1}}};
    claim.takeover_after = 16min;
    claim.cutoff = *ann.store->inspect("jobs", Freshness::fresh).now;
    claim.cutoff.time += ann.store->call_limit();
    CHECK(thrown_by([&] { return ann.store->claim("jobs", FromAbsent{}, claim); }) ==
          Errc::outcome_unknown);
    fleet.clock->advance(3 * ann.store->call_limit());
    ann.members[2]->deliver();
    CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "", ""});
  }
}

TEST_CASE("a claim that a member granted which was exchanged for a moment is not undone and held",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();

  MemoryTables exchanged;
  MemoryTables& second = fleet.stores[1].tables;
  const auto exchange = [&] { std::swap(second, exchanged); };
  ann.members[1]->before("claim", [&] {
    ann.members[1]->before("inspect", [&] {
      exchange();
      ann.members[1]->before("inspect", exchange);
    });
  });
  ann.members[2]->fail("claim", Fault::rejected);
  ann.members[0]->fail("release", Fault::delayed);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));

  ann.members[0]->deliver();
  CHECK_FALSE(bob.lock("jobs")->lock_try("y"));
  CHECK(lock->held());
}
