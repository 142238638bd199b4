#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distlock/error.h"
#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Messages and states say which member they are about, and what it is.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

class Named : public FaultyStore {
 public:
  Named(std::shared_ptr<Store> inner, std::string name)
      : FaultyStore(std::move(inner)), name_(std::move(name)) {}
  std::string description() const override { return name_; }

 private:
  std::string name_;
};

struct NamedMembers {
  NamedMembers() {
    for (const char* const name : {"first", "second", "third"}) {
      members.push_back(std::make_shared<Named>(fleet.stores[members.size()].store, name));
    }
    store = make_mirrored_store({members.begin(), members.end()}, fleet.clock,
                                {MirrorDrive::caller, {}});
  }
  void set_away(std::size_t member) const {
    members[member]->during_each_call(
        [](const std::string&) { throw Error(Errc::not_applied, "nobody answers"); });
  }

  MirrorFleet fleet;
  std::vector<std::shared_ptr<Named>> members;
  std::shared_ptr<Store> store;
};

}  // namespace

TEST_CASE("the error of too few members names the one that is of no set", "[mirrored][M2]") {
  NamedMembers named;
  static_cast<void>(named.store->list());
  named.fleet.empty(2);
  named.set_away(1);
  CHECK_THROWS_WITH(named.store->list(), Catch::Contains("third is not one of this set") &&
                                             !Catch::Contains("first is not"));
}

TEST_CASE("the error of a ping or a release names the members that are none of the set",
          "[mirrored][M2][M6]") {
  NamedMembers named;
  static_cast<void>(named.store->list());
  for (const std::size_t i : {0, 1}) named.fleet.empty(i);
  const auto ping = [&] { return named.store->ping("ann", {}); };
  const auto release = [&] { return named.store->release("jobs", Token{{1}}); };
  CHECK(thrown_by(ping) == Errc::outcome_unknown);
  const auto names_two = [](const auto& call) {
    CHECK_THROWS_WITH(call(), Catch::Contains("; first is not one of this set, or is empty") &&
                                  Catch::Contains("; second is not one of this set, or is empty") &&
                                  !Catch::Contains("third"));
  };
  names_two(ping);
  names_two(release);
}

TEST_CASE("the error of members that are no set names the one that failed", "[mirrored][M6]") {
  NamedMembers named;
  named.set_away(1);
  CHECK_THROWS_WITH(named.store->list(), Catch::Contains("second: nobody answers"));
}

TEST_CASE("the log names the member whose document keeps another one out",
          "[mirrored][log][M6][R14]") {
  NamedMembers named;
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = named.store, .clock = named.fleet.clock, .process = "ann"},
      PingerOptions{}, PingerDrive::caller);
  pinger->ping_round();
  named.fleet.empty(1);
  named.fleet.stores[2].tables.put_lock(
      {{"_id", std::string("jobs")}, {"state", std::string("odd")}});
  Captured log;
  for (int i = 0; i < 130; ++i) {
    named.fleet.clock->advance(30s);
    pinger->ping_round();
  }
  CHECK(log.count(severity_level::warning, "\"second\" cannot take part") == 1);
  CHECK(log.count(severity_level::warning, "the document of lock \"jobs\" on \"third\"") == 1);
}

TEST_CASE("a member with the mark of a set that is gone is as good as empty",
          "[mirrored][M6][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  REQUIRE(ann.condition(1) == MemberState::Condition::kept_out);
  fleet.empty(0);
  fleet.empty(2);
  for (const MemberState& member : fleet.process("bob").store->members()->states()) {
    CHECK(member.condition == MemberState::Condition::empty);
  }
}

TEST_CASE("an operator is told that another one was faster", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  fleet.empty(1);
  ann.members[1]->before("claim", [&] { REQUIRE(bob.store->members()->readmit(1)); });
  CHECK_THROWS_WITH(ann.store->members()->readmit(1), Catch::Contains("somebody else changed it"));
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}

TEST_CASE("an operator learns which member there is not", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  CHECK_THROWS_WITH(ann.store->members()->readmit(3), Catch::Contains("3 members has no member 4"));
}

TEST_CASE("readmit says whether a store is of another set, or of this one at another place",
          "[mirrored][M6][M7]") {
  NamedMembers named;
  static_cast<void>(named.store->list());
  const bool of_this_set = GENERATE(true, false);
  if (of_this_set) {
    const Document first = *named.fleet.stores[0].tables.raw_lock(mirrored::kIdentityName);
    named.fleet.stores[2].tables.put_lock(first);
  } else {
    const NamedMembers others;
    static_cast<void>(others.store->list());
    const Document third = *others.fleet.stores[2].tables.raw_lock(mirrored::kIdentityName);
    named.fleet.stores[2].tables.put_lock(third);
  }
  const auto readmit = [&] { named.store->members()->readmit(2); };
  CHECK(thrown_by(readmit) == Errc::invalid_argument);
  if (of_this_set) {
    CHECK_THROWS_WITH(readmit(), Catch::Contains("third is member 1 of 3 of this very") &&
                                     Catch::Contains("only if it is a store of its own, empty"));
  } else {
    CHECK_THROWS_WITH(readmit(), Catch::Contains("third is member 3 of 3 of another") &&
                                     Catch::Contains("empty this one"));
  }
}

TEST_CASE("a look at members that have locks and no identities advises no run", "[mirrored][M6]") {
  NamedMembers named;
  static_cast<void>(named.store->list());
  const bool has_locks = GENERATE(true, false);
  if (has_locks) named.fleet.put_taken(1);
  for (const OpenedMemoryStore& member : named.fleet.stores) {
    member.tables.remove_lock(mirrored::kIdentityName);
  }
  const auto look = make_mirrored_store(
      {named.members.begin(), named.members.end()}, named.fleet.clock,
      {.drive = MirrorDrive::caller, .random = {}, .opening = OpeningRule::to_look});
  const auto list = [&] { static_cast<void>(look->list()); };
  CHECK(thrown_by(list) == Errc::not_applied);
  if (has_locks) {
    CHECK_THROWS_WITH(list(), Catch::Contains("second has locks") &&
                                  Catch::Contains("empty all members") &&
                                  !Catch::Contains("distlock run"));
  } else {
    CHECK_THROWS_WITH(list(), Catch::Contains("make them one with distlock run"));
  }
}
