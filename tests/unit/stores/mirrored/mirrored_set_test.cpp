#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Which stores become the members of a mirrored store, and which count as such (M6, M7).

namespace {

struct SecondName : FaultyStore {
  using FaultyStore::FaultyStore;
  std::string description() const override { return "the second name"; }
};

}  // namespace

TEST_CASE("members that are one store, or of an even number, are refused", "[mirrored][M6][M7]") {
  MirrorFleet fleet;
  const auto store = [&](std::size_t i) { return fleet.stores[i].store; };
  CHECK(thrown_by([&] {
          return make_mirrored_store({store(0), store(1)});
        }) == Errc::invalid_argument);
  CHECK(thrown_by([&] { return make_mirrored_store({}); }) == Errc::invalid_argument);
  CHECK(thrown_by([&] {
          return make_mirrored_store({store(0), store(1), store(0)});
        }) == Errc::invalid_argument);
  CHECK(thrown_by([&] {
          return make_mirrored_store({store(0), store(1), nullptr});
        }) == Errc::invalid_argument);
  const auto again = std::make_shared<FaultyStore>(store(0));
  const auto doubled =
      make_mirrored_store({store(0), store(1), again}, fleet.clock, {MirrorDrive::caller, {}});
  CHECK(thrown_by([&] { return doubled->list(); }) == Errc::invalid_argument);
}

TEST_CASE("a mirrored store without a clock is refused", "[mirrored][M7]") {
  const MirrorFleet fleet;
  const auto made = [&] { return make_mirrored_store({fleet.stores[0].store}, nullptr); };
  CHECK(thrown_by(made) == Errc::invalid_argument);
}

TEST_CASE("members in another order do not count", "[mirrored][M7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto turned =
      make_mirrored_store({fleet.stores[1].store, fleet.stores[2].store, fleet.stores[0].store},
                          fleet.clock, {MirrorDrive::caller, {}});
  CHECK(thrown_by([&] { return turned->list(); }) == Errc::invalid_argument);
}

TEST_CASE("stores with locks of their own do not become members", "[mirrored][M6]") {
  MirrorFleet fleet;
  fleet.stores[1].tables.put_lock(
      {{"_id", std::string("jobs")}, {"state", std::int32_t{0}}, {"who", std::string()}});
  CHECK(thrown_by([&] { return fleet.process("ann").store->list(); }) == Errc::invalid_argument);
}

TEST_CASE("stores whose absent documents tell no time become a set, and lock", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  for (const auto& member : ann.members) member->absent_tells_no_time = true;
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>(3, "ann"));
  CHECK(lock->unlock() == UnlockResult::released);
}

TEST_CASE("a member without the lock's document tells no time, and the others are judged",
          "[mirrored][M4]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  for (const auto& member : bob.members) member->absent_tells_no_time = true;
  ann.pinger->ping_round();
  ann.set_away(1, true);
  const auto held = ann.lock("jobs");
  REQUIRE(held->lock_try("x"));
  REQUIRE(fleet.holders("jobs") == std::vector<std::string>{"ann", "", "ann"});
  const auto wanted = bob.lock("jobs");
  LockRecord other;
  CHECK_FALSE(wanted->lock_try("y", &other));
  CHECK(other.process == "ann");
  fleet.clock->advance(std::chrono::minutes{17});
  CHECK(wanted->lock_try("y"));
}

TEST_CASE("a member that was slow at the founding takes part", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const Fault fault = GENERATE(Fault::rejected, Fault::lost_request, Fault::lost_reply);
  ann.members[2]->fail("claim", fault);
  ann.pinger->ping_round();
  CHECK(ann.condition(2) == MemberState::Condition::counts);
}

TEST_CASE("a process that comes in the middle of a founding joins the set", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  // Of bob's identities the first is there, and the others are under way.
  bob.members[1]->fail("claim", Fault::delayed, 2);
  bob.members[2]->fail("claim", Fault::delayed, 2);
  REQUIRE(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);
  const auto arrive = [&] {
    bob.members[1]->deliver();
    bob.members[2]->deliver();
  };
  SECTION("they come") {
    ann.members[1]->before("inspect", [&] { ann.members[1]->before("inspect", arrive); });
    CHECK_NOTHROW(ann.store->list());
    CHECK_NOTHROW(bob.store->list());
  }
  SECTION("they do not come, and it founds another set with all") {
    fleet.outlast_founders();
    const auto before = fleet.clock->waited();
    CHECK_NOTHROW(ann.store->list());
    CHECK(fleet.clock->waited() - before <= ann.store->call_limit() / 4);
    arrive();
    const auto held = bob.lock("jobs");
    CHECK(held->lock_try("x"));
    CHECK_FALSE(ann.lock("jobs")->lock_try("x"));
    for (std::size_t i = 0; i < 3; ++i) CHECK(ann.condition(i) == MemberState::Condition::counts);
  }
}

TEST_CASE("a half-founded set is completed only where no lock was ever granted", "[mirrored][M6]") {
  MirrorFleet fleet;
  {
    const auto bob = fleet.process("bob");
    bob.members[1]->fail("claim", Fault::lost_request, 2);
    bob.members[2]->fail("claim", Fault::lost_request, 2);
    REQUIRE(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);
  }
  fleet.outlast_founders();
  const auto ann = fleet.process("ann");
  SECTION("it was not") { CHECK(ann.lock("jobs")->lock_try("x")); }
  SECTION("it was, or a process has pinged there") {
    const std::size_t member = GENERATE(0, 1);
    if (GENERATE(true, false)) {
      fleet.put_taken(member);
    } else {
      fleet.stores[member].store->ping("eve");
    }
    CHECK(thrown_by([&] { return ann.store->list(); }) == Errc::not_applied);
  }
}

TEST_CASE("a founder that finds the locks of another founder's set joins it", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = bob.lock("jobs");
  ann.members[0]->before("list", [&] { REQUIRE(lock->lock_try("x")); });
  CHECK(ann.store->list().locks.size() == 1);
}

TEST_CASE("a member's identity is neither listed nor lockable", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  CHECK(ann.store->list().locks.empty());
  CHECK(thrown_by([&] {
          return ann.lock("distlock: member of a mirrored store")->lock_try("x");
        }) == Errc::invalid_argument);
}

TEST_CASE("a member that a process has not pinged for a window is not claimed",
          "[mirrored][M5][R7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[2]->during_each_call([](const std::string& call) {
    if (call == "ping") throw Error(Errc::not_applied, "no ping gets there");
  });
  fleet.rounds({&ann}, 20min);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
  ann.set_away(2, false);
  fleet.rounds({&ann}, 2 * 30s);
  CHECK(fleet.holders("jobs") == std::vector<std::string>(3, "ann"));
}

// As that of a program that claims by the port.
TEST_CASE("a claim that states no window counts each ping of its process as young",
          "[mirrored][M5]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.clock->advance(48h);
  Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{1}}};
  claim.cutoff = ann.store->list().now;
  claim.cutoff.time += 1s;
  CHECK(ann.store->claim("jobs", FromAbsent{}, claim));
  CHECK(fleet.holders("jobs") == std::vector<std::string>(3, "ann"));
}

TEST_CASE("a store that is named twice is refused where the others are a set already",
          "[mirrored][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  std::vector<std::shared_ptr<Store>> members;
  for (const auto& opened : fleet.stores) members.push_back(opened.store);
  const std::size_t twice = GENERATE(0, 1);
  members[twice + 1] = std::make_shared<SecondName>(fleet.stores[twice].store);
  const auto doubled = make_mirrored_store(members, fleet.clock, {MirrorDrive::caller, {}});
  CHECK(thrown_by([&] { return doubled->list(); }) == Errc::invalid_argument);
  // The later place is the one that is to be named otherwise.
  CHECK_THROWS_WITH(doubled->list(), Catch::Contains("the second name;"));
}

// A hold there would have no ping beside it, so that nobody could take it over (R7).
TEST_CASE("a member that came back is claimed only once it has confirmed a ping in its new life",
          "[mirrored][M2][M5][R7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(2);
  REQUIRE(ann.store->members()->readmit(2));
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
  fleet.rounds({&ann}, 60s);
  CHECK(fleet.stores[2].tables.raw_ping("ann"));
}

TEST_CASE("a member's identity cannot be freed as a lock", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const std::string identity = "distlock: member of a mirrored store";
  const auto token = fleet.stores[1].store->inspect(identity, Freshness::fresh).lock->ts;
  CHECK(thrown_by([&] { return ann.store->release(identity, token.value()); }) ==
        Errc::invalid_argument);
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}

TEST_CASE("the call limit of a mirrored store is that of its slowest member", "[mirrored][M2]") {
  const auto clock = std::make_shared<ManualClock>();
  std::vector<std::shared_ptr<Store>> members;
  for (const std::chrono::milliseconds limit : {1s, 3s, 2s}) {
    members.push_back(open_memory_store(clock, StoreOptions{.call_limit = limit}).store);
  }
  CHECK(make_mirrored_store(members, clock)->call_limit() == 4 * 3s);
}
