// The set that a process knows, and how it tells the members of it (M6, M7).
#include <catch2/catch.hpp>
#include <string>

#include "distlock/error.h"
#include "distlock/members.h"
#include "identity_name.h"
#include "stores/mirrored/mirrored_store.h"
#include "support/mirror_fleet.h"
#include "support/tampering.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/named_places.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

const MirrorOptions kByHand{MirrorDrive::caller, {}};

}  // namespace

TEST_CASE("a process that comes to a set looks once at each member for it", "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const auto bob = fleet.process("bob");
  static_cast<void>(bob.store->list());
  for (const auto& member : bob.members) {
    CHECK(member->calls("inspect") == 2);  // Another one after the list.
    CHECK(member->calls("list") == 1);
  }
}

TEST_CASE("how members fare is told by a look and a list of each", "[mirrored][M2][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  for (const auto& member : ann.members) member->forget_calls();
  static_cast<void>(ann.store->members()->states());
  for (const auto& member : ann.members) CHECK(member->calls() == 2);
}

TEST_CASE("a set is told by its majority, whichever member is away", "[mirrored][M6]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const auto bob = fleet.process("bob");
  bob.set_away(GENERATE(0, 1, 2), true);
  CHECK_NOTHROW(bob.store->list());
}

// Holds of the set may be valid yet.
TEST_CASE("the set that a thread has learned stays, though another one finds another set later",
          "[mirrored][M6][R1]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const auto bob = fleet.process("bob");
  bob.members[0]->before("inspect", [&] {
    REQUIRE_NOTHROW(bob.store->list());
    for (std::size_t i = 0; i < 3; ++i) fleet.empty(i);
    fleet.process("cid").pinger->ping_round();
  });
  CHECK(thrown_by([&] { bob.store->list(); }) == Errc::not_applied);
  CHECK(thrown_by([&] { bob.store->list(); }) == Errc::not_applied);
}

TEST_CASE("where there is no majority a copy of a member is named as one", "[mirrored][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  fleet.stores[2].tables = fleet.stores[0].tables;
  fleet.empty(1);
  std::vector<std::shared_ptr<Store>> members;
  for (const auto& opened : fleet.stores) members.push_back(opened.store);
  const auto copies = mirrored::open_set(members, fleet.clock, kByHand, mirrored::Twins::copies);
  CHECK_THROWS_WITH(copies->list(), Catch::Contains("name each of them once"));
}

TEST_CASE("a store that belongs at another place is named where there is no majority",
          "[mirrored][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const std::size_t place = GENERATE(0, 1, 2);
  const std::size_t its_own = (place + 1) % 3;
  fleet.stores[place].tables = fleet.stores[its_own].tables;
  for (const std::size_t other : {place + 1, place + 2}) fleet.empty(other % 3);
  const std::string stated = "is member " + std::to_string(its_own + 1) + " of 3";
  CHECK_THROWS_WITH(fleet.process("bob").store->list(), Catch::Contains(stated));
}

TEST_CASE("any two members that are named at each other's places are refused beside a majority",
          "[mirrored][M7]") {
  MirrorFleet fleet(5);
  fleet.process("ann").pinger->ping_round();
  std::vector<std::shared_ptr<Store>> members;
  for (const auto& opened : fleet.stores) members.push_back(opened.store);
  const std::size_t one = GENERATE(0, 1, 3);
  std::swap(members[one], members[GENERATE(2, 4)]);
  const auto turned = make_mirrored_store(members, fleet.clock, kByHand);
  CHECK(thrown_by([&] { turned->list(); }) == Errc::invalid_argument);
}

TEST_CASE("a member of another set does not lengthen the wait for a set that is gone",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const std::string another = std::string(kIdentityProcess) + to_hex(Token{{7}});
  tamper(fleet.stores[2].tables, kIdentityName, "process", another);
  tamper(fleet.stores[2].tables, kIdentityName, "takeover_after",
         std::int64_t{std::chrono::milliseconds{2h}.count()});
  const auto bob = fleet.process("bob");
  const auto list = [&] { return thrown_by([&] { bob.store->list(); }); };
  REQUIRE_FALSE(list());
  for (std::size_t i = 0; i < 3; ++i) fleet.empty(i);
  CHECK(list() == Errc::not_applied);
  CHECK(list() == Errc::not_applied);  // From then on it is known to be gone.
  fleet.clock->advance(1h);
  CHECK(list() == Errc::store_replaced);
}

TEST_CASE("a member of before is shown as empty, wherever it stands", "[mirrored][M6][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const std::size_t member = GENERATE(0, 1, 2);
  const MemoryTables old = fleet.stores[member].tables;
  fleet.empty(member);
  REQUIRE(ann.store->members()->readmit(member));
  fleet.stores[member].tables = old;
  CHECK(ann.condition(member) == Condition::empty);
}

TEST_CASE("each member is shown with where it is, and with why it is away", "[mirrored][M8]") {
  const NamedPlaces named;
  const std::size_t away = GENERATE(0, 1, 2);
  named.places[away]->fail("inspect", Fault::rejected);
  const auto states = named.store->members()->states();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(states[i].description == "place " + std::to_string(i + 1));
    CHECK(states[i].failure.has_value() == (i == away));
  }
}
