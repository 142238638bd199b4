#include <catch2/catch.hpp>
#include <string>

#include "distlock/error.h"
#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "stores/mirrored/mirrored_store.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Which error the members of a mirrored store amount to: whether waiting helps, and what to mend.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string kDocument(mirrored::kIdentityName);

void deny_claims(const MirrorProcess& process, std::size_t member) {
  process.members[member]->during_each_call([](const std::string& call) {
    if (call == "claim") throw Error(Errc::permission_denied, "no right to write");
  });
}

/// A store of these members, as files of a connection string are: several stores for certain.
std::shared_ptr<Store> of_files(const MirrorProcess& process, MirrorFleet& fleet) {
  return mirrored::open_set({process.members.begin(), process.members.end()}, fleet.clock,
                            {MirrorDrive::caller, {}}, mirrored::Twins::copies);
}

std::vector<std::string> refusal_text(const std::shared_ptr<Store>& store) {
  try {
    store->list();
  } catch (const Error& error) {
    return {error.what()};
  }
  return {};
}

}  // namespace

TEST_CASE("a copy, or a member of another place, ends no wait for a member that is away",
          "[mirrored][M2][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const std::size_t shown = GENERATE(0, 1);
  // Of the first member it is a copy. The second one is another store then.
  fleet.stores[2].tables.put_lock(*fleet.stores[shown].tables.raw_lock(kDocument));
  if (shown == 1) fleet.stores[1].tables.put_lock(*fleet.stores[0].tables.raw_lock(kDocument));
  const std::size_t good = 0;
  const std::size_t away = 1;
  const auto bob = fleet.process("bob");
  bob.set_away(away, true);
  const auto store = of_files(bob, fleet);
  CHECK(thrown_by([&] { store->list(); }) == Errc::not_applied);
  CHECK_THAT(refusal_text(store).at(0), Catch::Contains("is of another place"));
  bob.set_away(away, false);
  fleet.empty(away);
  CHECK(thrown_by([&] { store->list(); }) == Errc::invalid_argument);
  fleet.empty(good);
  CHECK(thrown_by([&] { store->list(); }) == Errc::invalid_argument);
}

TEST_CASE("a founding that a member denies says so, again and again, and leaves nothing",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const bool first = GENERATE(true, false);
  deny_claims(ann, first ? 0 : 1);
  if (!first) deny_claims(ann, 2);
  for (int i = 0; i < 3; ++i) {
    CHECK(thrown_by([&] { ann.store->list(); }) == Errc::permission_denied);
    CHECK_THAT(refusal_text(ann.store).at(0), Catch::Contains("no right to write"));
    CHECK(fleet.holders(kDocument) == std::vector<std::string>(3, ""));
  }
  for (const std::size_t i : {0, 1, 2}) ann.set_away(i, false);
  CHECK(ann.lock("jobs")->lock_try("x"));
}

TEST_CASE("a founding goes on after a denial while others may still grant it", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  deny_claims(ann, 1);
  ann.members[2]->fail("claim", Fault::rejected, 2);
  CHECK(thrown_by([&] { ann.store->list(); }) == Errc::not_applied);
}

TEST_CASE("a denial takes no set apart whose last answer got lost", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.members[1]->fail("claim", Fault::lost_reply);
  deny_claims(ann, 2);
  CHECK(ann.lock("jobs")->lock_try("x"));
  CHECK(fleet.holders(kDocument)[0] != "");
  CHECK(fleet.holders(kDocument)[1] != "");
}

TEST_CASE("a founding whose claims are in doubt is not given back", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.members[1]->fail("claim", Fault::lost_reply);
  // Bob sees the set, and ann does not.
  ann.members[2]->during_each_call([&](const std::string& call) {
    if (call != "claim") return;
    for (const std::size_t i : {0, 1}) ann.members[i]->fail("inspect", Fault::rejected, 9);
    throw Error(Errc::permission_denied, "no right to write");
  });
  static_cast<void>(thrown_by([&] { ann.store->list(); }));
  CHECK(bob.lock("jobs")->lock_try("x"));
}

TEST_CASE("a half-made set whose members deny writes says so", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto bob = fleet.process("bob");
  for (const std::size_t i : {1, 2}) bob.members[i]->fail("claim", Fault::lost_request, 2);
  REQUIRE(thrown_by([&] { bob.store->list(); }) == Errc::not_applied);
  fleet.outlast_founders();
  const auto ann = fleet.process("ann");
  for (const std::size_t i : {1, 2}) deny_claims(ann, i);
  CHECK(thrown_by([&] { ann.store->list(); }) == Errc::permission_denied);
}

TEST_CASE("a member that denies a founding stays out of the set of the others", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  deny_claims(ann, 2);
  CHECK(ann.lock("jobs")->lock_try("x"));
  CHECK(ann.condition(2) == MemberState::Condition::empty);
}

TEST_CASE("a founding that fails tells of the members as they are at its end", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  for (const std::size_t i : {1, 2}) bob.members[i]->fail("claim", Fault::lost_request, 2);
  // Ann has seen that all are empty.
  ann.members[0]->before(
      "list", [&] { REQUIRE(thrown_by([&] { bob.store->list(); }) == Errc::not_applied); });
  CHECK_THAT(refusal_text(ann.store).at(0),
             Catch::Contains("one set; memory: is empty; memory: is empty; if"));
}

TEST_CASE("a member of another set is not waited for", "[mirrored][M2]") {
  MirrorFleet other;
  other.process("eve").pinger->ping_round();
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[1]->during_each_call(
      [](const std::string&) { throw Error(Errc::permission_denied, "no right"); });
  fleet.stores[2].tables.put_lock(*other.stores[2].tables.raw_lock(kDocument));
  CHECK(thrown_by([&] { ann.store->list(); }) == Errc::permission_denied);
  CHECK(thrown_by([&] { ann.store->inspect("jobs", Freshness::fresh); }) ==
        Errc::permission_denied);
}

TEST_CASE("a process that joins the set of another founder is told of members in another order",
          "[mirrored][M6][M7]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  auto bob = fleet.process("bob");
  std::vector<std::shared_ptr<Store>> turned(bob.members.begin(), bob.members.end());
  std::swap(turned[3], turned[4]);
  const auto store = make_mirrored_store(turned, fleet.clock, {MirrorDrive::caller, {}});
  int looks = 0;
  SECTION("that is there at its claim") {
    bob.members[0]->before("list", [&] { ann.pinger->ping_round(); });
  }
  SECTION("that comes while it waits for one") {
    for (const std::size_t i : {1, 2, 3, 4}) ann.members[i]->fail("claim", Fault::delayed, 2);
    REQUIRE(thrown_by([&] { ann.store->list(); }) == Errc::not_applied);
    bob.members[0]->during_each_call([&](const std::string& call) {
      if (call != "inspect" || ++looks != 3) return;
      for (const auto& member : ann.members) member->deliver();
    });
  }
  CHECK(thrown_by([&] { store->list(); }) == Errc::invalid_argument);
}

TEST_CASE("an operator who takes a member back learns what is wrong with the list",
          "[mirrored][M6][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const auto bob = fleet.process("bob");
  const auto turned = make_mirrored_store({bob.members[1], bob.members[2], bob.members[0]},
                                          fleet.clock, {MirrorDrive::caller, {}});
  CHECK(thrown_by([&] { turned->members()->readmit(0); }) == Errc::invalid_argument);
}

TEST_CASE("to take a member back founds no set", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  CHECK(thrown_by([&] { ann.store->members()->readmit(0); }) == Errc::not_applied);
  CHECK(fleet.holders(kDocument) == std::vector<std::string>(3, ""));
}

TEST_CASE("an operator learns why a member that is to be taken back refuses it", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  deny_claims(ann, 1);
  CHECK(thrown_by([&] { return ann.store->members()->readmit(1); }) == Errc::permission_denied);
  ann.set_away(1, false);
  CHECK(ann.store->members()->readmit(1));
}

// They need only wait for the member that is away.
TEST_CASE("nobody is told to empty members where a minority was emptied", "[mirrored][M6]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  fleet.empty(0);
  const auto bob = fleet.process("bob");
  bob.set_away(1, true);
  CHECK_THAT(refusal_text(bob.store).at(0), Catch::Contains("a majority must answer as one set") &&
                                                !Catch::Contains("empty the other members"));
}
