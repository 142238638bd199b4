#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Old data of a member, and a store that was at its place before: they count for nobody once the
// place has been given anew (M6, M7).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

/// Until that process sees that the member counts, and has a ping there.
void take_back(MirrorFleet& fleet, std::size_t member, const MirrorProcess& process) {
  for (int i = 0; i < 140 && process.condition(member) != Condition::counts; ++i) {
    fleet.rounds({&process}, 30s);
  }
  REQUIRE(process.condition(member) == Condition::counts);
  process.pinger->ping_round();
}

/// The member loses its data, and is taken back. Gives what it has lost.
MemoryTables lose_and_take_back(MirrorFleet& fleet, std::size_t member,
                                const MirrorProcess& process) {
  MemoryTables lost = fleet.stores[member].tables;
  fleet.empty(member);
  process.pinger->ping_round();
  take_back(fleet, member, process);
  return lost;
}

/// Whether that process gets a lock, on the members that are not away.
bool gets(const MirrorProcess& process) {
  bool got = false;
  const auto failure =
      thrown_by([&] { return got = process.lock("another")->lock_try("whether it does"); });
  CHECK((!failure || failure == Errc::not_applied));
  return got;
}

/// Ann goes on with a store that bob's list does not have any more. She holds "jobs" on it and on
/// the first member.
struct TwoLists {
  TwoLists() {
    ann.pinger->ping_round();
    fleet.exchange_last();
    ann.set_away(1, true);
    REQUIRE(lock->lock_try("x"));
    ann.set_away(1, false);
    ann.members[1]->fail("claim", Fault::rejected, 10000);  // No repair gets there.
  }

  static inline const LockOptions kLongest{.takeover_after = 1h};
  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
  std::unique_ptr<DistributedLock> lock = ann.lock("jobs", kLongest);
};

}  // namespace

TEST_CASE("old data of a member count for nobody once it was taken back", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const MemoryTables old = lose_and_take_back(fleet, 1, ann);
  const bool known_before = GENERATE(false, true);
  const auto bob = fleet.process("bob");
  if (known_before) bob.pinger->ping_round();
  fleet.stores[1].tables = old;
  CHECK(ann.condition(1) == Condition::empty);
  ann.set_away(2, true);
  CHECK_FALSE(gets(ann));
  bob.set_away(2, true);
  CHECK_FALSE(gets(bob));
  bob.set_away(2, false);
  CHECK(gets(bob));
  CHECK(bob.condition(1) == Condition::empty);
}

TEST_CASE("a member of before is not taken for one of another place", "[mirrored][M6][M7]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.stores[0].tables = lose_and_take_back(fleet, 0, ann);
  const auto bob = fleet.process("bob");
  for (const std::size_t away : {2, 3, 4}) bob.set_away(away, true);
  CHECK(thrown_by([&] { bob.store->inspect("jobs", Freshness::fresh); }) == Errc::not_applied);
}

TEST_CASE("a member whose old data came back is taken back like an empty one", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  MemoryTables old = lose_and_take_back(fleet, 1, ann);
  // To and fro: whichever it is, the other one is of before.
  for (int i = 0; i < 3; ++i) {
    std::swap(fleet.stores[1].tables, old);
    CHECK(ann.condition(1) == Condition::empty);
    take_back(fleet, 1, ann);
    ann.set_away(2, true);
    CHECK(gets(ann));
    ann.set_away(2, false);
  }
}

TEST_CASE("news of a member outlive the data of those that were told", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const MemoryTables old = lose_and_take_back(fleet, 1, ann);
  lose_and_take_back(fleet, 0, ann);
  fleet.stores[1].tables = old;
  const auto bob = fleet.process("bob");
  bob.set_away(2, true);
  CHECK_FALSE(gets(bob));
}

TEST_CASE("the wait for a member begins when a majority of the others has been told",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  // The first member can be pinged and read, and not written to.
  ann.members[0]->fail("claim", Fault::rejected, 10000);
  fleet.rounds({&ann}, 3h);
  CHECK(ann.condition(1) == Condition::kept_out);
}

TEST_CASE("an operator who takes a member back tells the others", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const MemoryTables old = fleet.stores[1].tables;
  fleet.empty(1);
  SECTION("of one that is back then") {
    REQUIRE(ann.store->members()->readmit(1));
    fleet.stores[1].tables = old;
    const auto bob = fleet.process("bob");
    bob.set_away(2, true);
    CHECK_FALSE(gets(bob));
  }
  SECTION("and is refused where they cannot be told") {
    ann.members[2]->fail("claim", Fault::rejected);
    CHECK(thrown_by([&] { ann.store->members()->readmit(1); }) == Errc::not_applied);
    CHECK(ann.condition(1) == Condition::empty);
    CHECK(ann.store->members()->readmit(1));
  }
}

TEST_CASE("one answer of a call tells that another one is of before", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  // Bob heard of nothing, and asks the member of before first.
  fleet.stores[0].tables = lose_and_take_back(fleet, 0, ann);
  bob.set_away(2, true);
  const auto look = [&] { bob.store->inspect("jobs", Freshness::fresh); };
  CHECK(thrown_by(look) == Errc::not_applied);
  bob.set_away(2, false);
  CHECK_NOTHROW(look());
}

TEST_CASE("a hold counts no more on a store whose place was given anew", "[mirrored][M5][M7]") {
  TwoLists lists;
  const auto bob = lists.fleet.process("bob");
  while (bob.condition(2) != Condition::kept_out) lists.fleet.rounds({&bob}, 30s);
  lists.fleet.rounds({&lists.ann}, 30s);
  REQUIRE(lists.lock->held());
  // The others are told.
  bob.pinger->ping_round();
  REQUIRE(lists.lock->held());
  lists.ann.pinger->ping_round();
  CHECK_FALSE(lists.lock->held());
}

TEST_CASE("two stores at one place never count together", "[mirrored][M7][R1]") {
  TwoLists lists;
  const auto bob = lists.fleet.process("bob");
  const auto next = bob.lock("jobs", TwoLists::kLongest);
  bool bob_has_it = false;
  for (int i = 0; i < 300 && !bob_has_it; ++i) {
    lists.fleet.rounds({&lists.ann, &bob}, 30s);
    static_cast<void>(thrown_by([&] { return bob_has_it = next->lock_try("y"); }));
    REQUIRE_FALSE((bob_has_it && lists.lock->held()));
  }
  CHECK(bob_has_it);
  CHECK(next->fence() > lists.lock->fence());
}

// Each marks the store of its list before the other has told its number.
TEST_CASE("two stores that are put at one place at once never count together",
          "[mirrored][M6][M7][R1]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(2);
  fleet.exchange_last();
  const auto bob = fleet.process("bob");
  for (const auto* process : {&ann, &bob}) process->store->ping(process->pinger->process(), {});
  fleet.rounds({&ann, &bob}, 66min);
  ann.set_away(1, true);
  bob.set_away(0, true);
  const bool ann_gets = gets(ann);
  CHECK_FALSE((ann_gets && gets(bob)));
}

// Her hold is from before the member came back, and its old data come again as she frees it. Bob
// has the lock by then, with the next fence.
TEST_CASE("a claim from the process's own release counts on no member of before",
          "[mirrored][M6][M3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto anns = ann.lock("jobs");
  REQUIRE(anns->lock_try("x"));
  const MemoryTables old = lose_and_take_back(fleet, 1, ann);
  bob.pinger->ping_round();
  const auto bobs = bob.lock("jobs");
  ann.members[1]->before("release", [&] {
    bob.set_away(2, true);
    REQUIRE(bobs->lock_try("y"));
    fleet.stores[1].tables = old;
  });
  REQUIRE(anns->unlock() == UnlockResult::released);
  CHECK(thrown_by([&] { return anns->lock_try("x"); }) == Errc::outcome_unknown);
  CHECK(bobs->held());
}

// The first member is asked alone. It gets its old data back before the others are asked.
TEST_CASE("a grant of the first member does not count once another tells that it is of before",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  ann.set_away(2, true);
  ann.members[0]->before("claim", [&] {
    const MemoryTables old = fleet.stores[0].tables;
    fleet.empty(0);
    REQUIRE(bob.store->members()->readmit(0));
    fleet.stores[0].tables = old;
  });
  const auto lock = ann.lock("jobs");
  bool got = false;
  static_cast<void>(thrown_by([&] { return got = lock->lock_try("x"); }));
  CHECK_FALSE(got);
  CHECK_FALSE(lock->held());
}

TEST_CASE(
    "a member that is taken back knows of returns that some of the others alone have heard of",
    "[mirrored][M6]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const MemoryTables old = fleet.stores[1].tables;
  fleet.empty(1);
  ann.set_away(4, true);  // It is not told.
  REQUIRE(ann.store->members()->readmit(1));
  ann.set_away(4, false);
  fleet.empty(0);
  REQUIRE(ann.store->members()->readmit(0));
  fleet.stores[1].tables = old;
  const auto bob = fleet.process("bob");
  for (const std::size_t away : {2, 3}) bob.set_away(away, true);
  CHECK_FALSE(gets(bob));
}

TEST_CASE("a ping is not confirmed by a member that another one tells to be of before",
          "[mirrored][M5][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  // Bob heard of nothing, and asks the member of before first.
  fleet.stores[0].tables = lose_and_take_back(fleet, 0, ann);
  bob.set_away(2, true);
  const auto ping = [&] { static_cast<void>(bob.store->ping("bob", {})); };
  CHECK(thrown_by(ping) == Errc::outcome_unknown);
  bob.set_away(2, false);
  CHECK_NOTHROW(ping());
}
