#include <catch2/catch.hpp>

#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "stores/mirrored/member.h"
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

// Somebody else writes into their identities right before each claim of the news.
TEST_CASE("members that refuse the news of a return do not count as told", "[mirrored][M6]") {
  constexpr std::size_t kEmptied = 2;
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  std::array<std::function<void()>, 2> change;
  for (std::size_t other = 0; other < change.size(); ++other) {
    change[other] = [&, other] {
      MemoryTables& tables = fleet.stores[other].tables;
      Document identity = tables.raw_lock(mirrored::kIdentityName).value();
      set_field(identity, "when", *field_as<StoreTime>(identity, "when") + 1ms);
      tables.put_lock(identity);
      ann.members[other]->before("claim", change[other]);
    };
    change[other]();
  }
  fleet.empty(kEmptied);
  fleet.rounds({&ann}, 2h);
  CHECK(ann.condition(kEmptied) == MemberState::Condition::kept_out);
  for (const auto& member : ann.members) member->before("claim", {});
  fleet.rounds({&ann}, 2h);
  CHECK(ann.condition(kEmptied) == MemberState::Condition::counts);
}

TEST_CASE("a fence or news of another mark than the last say nothing of a member",
          "[mirrored][M6]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto store = make_memory_store(clock);
  const mirrored::Place place{0, 3};
  mirrored::Member member(store, place, clock, std::make_shared<mirrored::KnownReturns>());
  const Token mark{{2}};
  const mirrored::SetTerms terms{Token{{1}}, 1h, {}};
  const Claim claim = mirrored::marker_claim(mark, terms, place, store->list().now);
  REQUIRE(store->claim(mirrored::kIdentityName, FromAbsent{}, claim));
  static_cast<void>(member.look_at_identity());
  member.note_fence(Token{{3}}, 7);
  member.note_told(Token{{3}});
  REQUIRE(member.lack());
  CHECK_FALSE(member.lack()->fence);
  CHECK_FALSE(member.lack()->told);
  member.note_fence(mark, 7);
  member.note_told(mark);
  CHECK(member.lack()->fence == 7);
  CHECK(member.lack()->told);
}
