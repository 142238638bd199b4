#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "distlock/error.h"
#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Founders that see too little of what they have made (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string kIdentity(mirrored::kIdentityName);

/// Ann has founded a set with the first and the third member. Bob names another store as the third.
struct HalfSeen {
  HalfSeen() {
    ann.members[1]->fail("claim", Fault::lost_request, 2);
    static_cast<void>(ann.store->list());
    fleet.exchange_last();
    fleet.outlast_founders();
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
};

/// Bob has founded a set with the first member, long ago by its clock. His claims of the slow ones
/// are on their way, and come in time by theirs, which were set back. Those of the other members
/// are lost.
struct SlowFounder {
  SlowFounder(std::size_t members, const std::vector<std::size_t>& slow) : fleet(members) {
    for (std::size_t i = 1; i < members; ++i) {
      const bool is_slow = std::find(slow.begin(), slow.end(), i) != slow.end();
      bob.members[i]->fail("claim", is_slow ? Fault::delayed : Fault::lost_request, 2);
    }
    REQUIRE(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);
    fleet.outlast_founders();
    for (const std::size_t i : slow) fleet.clocks[i]->step(-10min);
  }
  void deliver() const {
    for (const auto& member : bob.members) member->deliver();
  }
  /// How many members count, as ann sees it.
  std::size_t counting() const {
    const auto states = ann.store->members()->states();
    return static_cast<std::size_t>(std::count_if(
        states.begin(), states.end(),
        [](const auto& one) { return one.condition == MemberState::Condition::counts; }));
  }

  MirrorFleet fleet;
  MirrorProcess bob = fleet.process("bob");
  MirrorProcess ann = fleet.process("ann");
};

}  // namespace

TEST_CASE("a founder that cannot look at its set takes none of it apart", "[mirrored][M6][M1]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto held = ann.lock("jobs");
  // The last claim of a founder; then ann sees the set, and bob does not.
  bob.members[2]->after("claim", [&] {
    REQUIRE(held->lock_try("x"));
    for (const std::size_t i : {0, 1}) bob.members[i]->fail("inspect", Fault::rejected);
  });
  static_cast<void>(thrown_by([&] { return bob.store->list(); }));
  CHECK(fleet.holders(kIdentity)[0] == fleet.holders(kIdentity)[1]);
  CHECK(fleet.holders(kIdentity)[0] == fleet.holders(kIdentity)[2]);
  fleet.rounds({&ann}, 60s);
  CHECK(held->still_held());
  CHECK_FALSE(bob.lock("jobs")->lock_try("x"));
  CHECK(held->unlock() == UnlockResult::released);
  CHECK(bob.lock("jobs")->lock_try("x"));
}

TEST_CASE("a founder that got the first member late leaves a set to be completed",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto bob = fleet.process("bob");
  bob.members[0]->fail("claim", Fault::lost_reply);
  static_cast<void>(thrown_by([&] { return bob.store->list(); }));
  fleet.outlast_founders();
  const auto ann = fleet.process("ann");
  CHECK(ann.lock("jobs")->lock_try("x"));
  for (std::size_t i = 0; i < 3; ++i) CHECK(ann.condition(i) == MemberState::Condition::counts);
}

TEST_CASE("a store that was named twice is founded and completed later as any other",
          "[mirrored][M6][M7]") {
  MirrorFleet fleet;
  const auto again = std::make_shared<FaultyStore>(fleet.stores[0].store);
  const auto doubled = make_mirrored_store({fleet.stores[0].store, fleet.stores[1].store, again},
                                           fleet.clock, {MirrorDrive::caller, {}});
  REQUIRE(thrown_by([&] { return doubled->list(); }) == Errc::invalid_argument);
  REQUIRE(fleet.holders(kIdentity) == std::vector<std::string>(3, ""));
  {
    const auto bob = fleet.process("bob");
    for (const std::size_t i : {1, 2}) bob.members[i]->fail("claim", Fault::lost_request, 2);
    REQUIRE(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);
  }
  fleet.outlast_founders();
  CHECK(fleet.process("ann").lock("jobs")->lock_try("x"));
}

TEST_CASE("a set is not completed where an identity has come back, or heard of a return",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  REQUIRE(ann.store->members()->readmit(1));
  ann.pinger->stop();  // It leaves no ping.
  fleet.empty(0);
  const std::size_t left = GENERATE(1, 2);
  fleet.empty(left == 1 ? 2 : 1);
  fleet.outlast_founders();
  const auto bob = fleet.process("bob");
  CHECK(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);
  CHECK(fleet.holders(kIdentity)[0].empty());
}

TEST_CASE("of two processes that complete a founding at once one joins the other's set",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  {
    const auto eve = fleet.process("eve");
    for (const std::size_t i : {1, 2}) eve.members[i]->fail("claim", Fault::lost_request, 2);
    REQUIRE(thrown_by([&] { return eve.store->list(); }) == Errc::not_applied);
  }
  fleet.outlast_founders();
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.members[0]->before("claim", [&] { bob.store->list(); });
  CHECK(ann.lock("jobs")->lock_try("x"));
  for (std::size_t i = 0; i < 3; ++i) CHECK(bob.condition(i) == MemberState::Condition::counts);
}

TEST_CASE("a set that gets its majority while it is completed keeps all members",
          "[mirrored][M6]") {
  SlowFounder founding(3, {1, 2});
  founding.ann.members[0]->after("claim", [&] { founding.deliver(); });
  const auto held = founding.ann.lock("jobs");
  CHECK(held->lock_try("x"));
  CHECK(founding.counting() == 3);
  CHECK_FALSE(founding.bob.lock("jobs")->lock_try("y"));
}

TEST_CASE("a set that is used while it is completed goes on", "[mirrored][M6]") {
  SlowFounder founding(3, {1});
  founding.ann.members[0]->before("claim", [&] {
    founding.deliver();
    founding.bob.pinger->ping_round();
  });
  CHECK_NOTHROW(founding.ann.store->list());
  const auto carol = founding.fleet.process("carol");
  CHECK(carol.lock("jobs")->lock_try("x"));
}

TEST_CASE("a set that was claimed in part can be completed later", "[mirrored][M6]") {
  MirrorFleet fleet(5);
  {
    const auto eve = fleet.process("eve");
    for (const std::size_t i : {2, 3, 4}) eve.members[i]->fail("claim", Fault::lost_request, 2);
    REQUIRE(thrown_by([&] { return eve.store->list(); }) == Errc::not_applied);
  }
  fleet.outlast_founders();
  const auto ann = fleet.process("ann");
  const std::size_t refused = GENERATE(0, 1);
  ann.members[refused]->fail("claim", Fault::rejected);
  REQUIRE(thrown_by([&] { return ann.store->list(); }) == Errc::not_applied);
  fleet.outlast_founders();
  CHECK(fleet.process("bob").lock("jobs")->lock_try("x"));
}

TEST_CASE("a set that lost to a slow founder takes no member with it", "[mirrored][M6]") {
  SlowFounder founding(5, {1, 2});
  founding.ann.members[0]->after("claim", [&] { founding.deliver(); });
  founding.ann.members[4]->fail("claim", Fault::rejected);
  CHECK_NOTHROW(founding.ann.store->list());
  CHECK(founding.counting() == 3);
  founding.fleet.rounds({&founding.ann, &founding.bob}, 2h);
  CHECK(founding.counting() == 5);
}

TEST_CASE("two sets that both lack a majority are completed later", "[mirrored][M6]") {
  SlowFounder founding(5, {1});
  founding.ann.members[0]->after("claim", [&] { founding.deliver(); });
  for (const std::size_t i : {2, 4}) founding.ann.members[i]->fail("claim", Fault::rejected);
  CHECK(thrown_by([&] { return founding.ann.store->list(); }) == Errc::not_applied);
  founding.fleet.outlast_founders();
  const auto carol = founding.fleet.process("carol");
  CHECK(carol.lock("jobs")->lock_try("x"));
  CHECK(founding.counting() == 5);
}

TEST_CASE("a set is not given up while its claims may be granted", "[mirrored][M6][M1]") {
  SlowFounder founding(3, {});
  const auto carol = founding.fleet.process("carol");
  const auto held = carol.lock("jobs");
  for (const std::size_t i : {1, 2}) founding.ann.members[i]->fail("claim", Fault::lost_reply);
  founding.ann.members[2]->after_lost_reply = [&] { CHECK(held->lock_try("x")); };
  CHECK_FALSE(founding.ann.lock("jobs")->lock_try("y"));
  CHECK(founding.counting() == 3);
  founding.fleet.rounds({&carol}, 60s);
  CHECK(held->still_held());
}

TEST_CASE("a founder that finds another set gives back the members that it got", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  bob.members[1]->fail("claim", Fault::delayed, 2);
  bob.members[2]->before("claim", [&] {
    fleet.outlast_founders();
    fleet.clocks[1]->step(-10min);  // So that bob's claim comes in time there.
    ann.store->list();
  });
  ann.members[0]->after("claim", [&] { bob.members[1]->deliver(); });
  CHECK_NOTHROW(bob.store->list());
  REQUIRE(fleet.holders(kIdentity)[0] == fleet.holders(kIdentity)[2]);
  CHECK(fleet.holders(kIdentity)[1].empty());
  fleet.rounds({&ann, &bob}, 2h);
  for (std::size_t i = 0; i < 3; ++i) CHECK(ann.condition(i) == MemberState::Condition::counts);
}

TEST_CASE("a set that is founded beside one of another list shares no place with it",
          "[mirrored][M6][M7][R1]") {
  HalfSeen lists;
  const auto bob = lists.fleet.process("bob");
  bob.pinger->ping_round();
  lists.fleet.rounds({&lists.ann, &bob}, 60s);
  lists.ann.set_away(1, true);
  bob.set_away(0, true);
  const auto anns = lists.ann.lock("jobs");
  static_cast<void>(thrown_by([&] { return anns->lock_try("x"); }));
  CHECK(bob.lock("jobs")->lock_try("y"));
  CHECK_FALSE(anns->held());
}

TEST_CASE("no set is founded beside one that is used meanwhile", "[mirrored][M6][M7][R1]") {
  HalfSeen lists;
  const auto bob = lists.fleet.process("bob");
  const auto anns = lists.ann.lock("jobs");
  bob.members[0]->before("claim", [&] { REQUIRE(anns->lock_try("x")); });
  CHECK(thrown_by([&] { return bob.lock("jobs")->lock_try("y"); }) == Errc::not_applied);
  CHECK(anns->held());
}

// The same claim was refused afterwards, by what it had made itself.
TEST_CASE("a founder gives back an identity whose grant it never heard of", "[mirrored][M6]") {
  MirrorFleet fleet(5);
  MirrorFleet other(1);
  for (std::size_t i = 1; i < 5; ++i) other.stores.push_back(fleet.stores[i]);
  const auto bob = other.process_with(fleet.clock, "bob");
  for (const std::size_t i : {1, 2, 3}) bob.members[i]->fail("claim", Fault::delayed, 2);
  bob.members[4]->fail("claim", Fault::lost_request, 2);
  REQUIRE(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);

  const auto ann = fleet.process("ann");
  for (const std::size_t i : {1, 2, 3}) ann.members[i]->fail("claim", Fault::lost_request);
  ann.members[4]->fail("claim", Fault::lost_reply);
  FaultyStore& second = *ann.members[1];
  second.before("claim", [&] {
    second.before("claim", [&] {
      for (const auto& member : bob.members) member->deliver();
    });
  });
  static_cast<void>(ann.store->list());
  const auto sets = fleet.holders(kIdentity);
  CHECK(sets[1] == sets[3]);
  CHECK(sets[0].empty());
  CHECK(sets[4].empty());
}
