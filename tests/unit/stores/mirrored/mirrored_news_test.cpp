#include <catch2/catch.hpp>

#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "support/mirror_fleet.h"

// Members' knowledge of each other's returns (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// One member is marked, and away as the other one is marked and the rest is told of it. So its own
// news, which come later, do not have the other's.
TEST_CASE("members that hear of one return still know the others", "[mirrored][M6]") {
  constexpr std::size_t kFirst = 3;
  constexpr std::size_t kOther = 4;
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto told = [&](std::size_t place) {
    const auto identity = fleet.stores[0].store->inspect(mirrored::kIdentityName, Freshness::fresh);
    return mirrored::returns_at(mirrored::returns_in(identity.lock->why), place) > 0;
  };
  fleet.empty(kFirst);
  ann.members[kFirst]->after("claim", [&] { ann.set_away(kFirst, true); });
  fleet.rounds({&ann}, 5min);
  const MemoryTables old = fleet.stores[kOther].tables;
  fleet.empty(kOther);
  fleet.rounds({&ann}, 5min);
  REQUIRE_FALSE(told(kFirst));
  REQUIRE(told(kOther));
  ann.set_away(kFirst, false);
  fleet.rounds({&ann}, 5min);
  REQUIRE(told(kFirst));
  fleet.stores[kOther].tables = old;
  CHECK(fleet.process("bob").condition(kOther) == MemberState::Condition::empty);
}
