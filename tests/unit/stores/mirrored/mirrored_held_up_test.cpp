#include <catch2/catch.hpp>

#include "distlock/members.h"
#include "support/mirror_fleet.h"

// Returns to the set that something holds up (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

}  // namespace

TEST_CASE("a member that cannot be taken back holds up no other", "[mirrored][M6]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  // Whichever comes first.
  const auto [stays_out, comes_back] = GENERATE(std::pair{0U, 3U}, std::pair{3U, 0U});
  fleet.empty(stays_out);
  fleet.empty(comes_back);
  fleet.rounds({&ann}, 10min);
  REQUIRE(ann.condition(stays_out) == Condition::kept_out);
  fleet.put_taken(stays_out);
  fleet.rounds({&ann}, 2h);
  CHECK(ann.condition(comes_back) == Condition::counts);
  CHECK(ann.condition(stays_out) == Condition::kept_out);
}

TEST_CASE("a member whose return the others hear of late waits from then on", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  // The first member can be pinged and read, and not written to. Each round tries it once.
  ann.members[0]->during_each_call([&](const std::string& call) {
    if (call == "claim") throw Error(Errc::not_applied, "it cannot be written to");
  });
  fleet.rounds({&ann}, 45min);
  REQUIRE(ann.condition(1) == Condition::kept_out);
  ann.set_away(0, false);
  fleet.rounds({&ann}, 59min);
  CHECK(ann.condition(1) == Condition::kept_out);
  fleet.rounds({&ann}, 3min);
  CHECK(ann.condition(1) == Condition::counts);
}

TEST_CASE("an operator takes a member back whose own fence is the greatest",
          "[mirrored][M6][R10]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  REQUIRE(ann.store->members()->readmit(1));
  const MemoryTables old = fleet.stores[1].tables;
  fleet.empty(1);
  REQUIRE(ann.store->members()->readmit(1));
  // Its old data are back, whose identity has a fence of its own.
  fleet.stores[1].tables = old;
  REQUIRE(ann.condition(1) == Condition::empty);
  CHECK(ann.store->members()->readmit(1));
  CHECK(ann.condition(1) == Condition::counts);
}
