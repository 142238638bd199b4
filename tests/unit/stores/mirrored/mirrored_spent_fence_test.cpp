#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/tampering.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/held_on_two.h"

// Fences that single members have, and the hold has not: of lost claims, of what members lost, and
// of outsiders (M3, M9).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string kIdentity(mirrored::kIdentityName);

// Makes that member come back: its identity has a fence of its own from then on.
void lose_and_readmit(MirrorFleet& fleet, const MirrorProcess& by, std::size_t member) {
  fleet.empty(member);
  fleet.rounds({&by}, 3 * 30s);
  REQUIRE(by.store->members()->readmit(member));
  fleet.rounds({&by}, 30s);
  REQUIRE(by.condition(member) == MemberState::Condition::counts);
}

// Of another lock. A member that comes back gets none that is less.
void spend_fences(const MirrorProcess& process) {
  const auto other = process.lock("other");
  for (int i = 0; i < 5; ++i) {
    REQUIRE(other->lock_try("x"));
    REQUIRE(other->unlock() == UnlockResult::released);
  }
}

Document free_with(Fence fence) {
  return {{"_id", std::string("jobs")}, {"state", std::int32_t{0}}, {"fence", fence}};
}

}  // namespace

TEST_CASE("a hold gets to a member where a claim that lost has left its fence",
          "[mirrored][M9][M3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("first"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  // Bob gets the first member alone, and frees it.
  bob.members[0]->after("claim", [&] { REQUIRE(lock->lock_try("again")); });
  REQUIRE_FALSE(bob.lock("jobs")->lock_try("x"));
  REQUIRE(fleet.holders("jobs") == Names{"", "ann", "ann"});
  REQUIRE(fleet.fence(0, "jobs") == lock->fence());
  fleet.rounds({&ann, &bob}, 60s);
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  ann.set_away(1, true);
  fleet.rounds({&ann, &bob}, 20min);
  CHECK(lock->held());
  CHECK(lock->still_held());
}

TEST_CASE("a hold gets to a member that came back, though it was away at the claim",
          "[mirrored][M6][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  spend_fences(ann);
  const auto lock = ann.lock("jobs");
  const bool claimed_before = GENERATE(true, false);
  if (claimed_before) {
    REQUIRE(lock->lock_try("x"));
    REQUIRE(lock->unlock() == UnlockResult::released);
  }
  lose_and_readmit(fleet, ann, 2);
  if (claimed_before) {
    REQUIRE(lock->lock_try("x"));
    REQUIRE(lock->unlock() == UnlockResult::released);
  }
  ann.set_away(2, true);
  REQUIRE(lock->lock_try("x"));
  ann.set_away(2, false);
  fleet.rounds({&ann}, 60s);
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  CHECK(lock->fence() == fleet.fence(2, "jobs"));
}

TEST_CASE("a great fence that one member alone has is left out", "[mirrored][M3][R10]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  const Fence great = GENERATE(Fence{1} << 62, std::numeric_limits<Fence>::max() - 1);
  const std::size_t member = GENERATE(0, 1, 2);
  fleet.stores[member].tables.put_lock(free_with(great));
  const auto rivals = fleet.process("bob").lock("jobs");
  REQUIRE(rivals->lock_try("x"));
  CHECK(rivals->fence() == 2);
  CHECK(rivals->unlock() == UnlockResult::released);
  CHECK(lock->lock_try("x"));
}

TEST_CASE("a great fence in the identity of one member is left out", "[mirrored][M3][R10]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  Document identity = *fleet.stores[1].tables.raw_lock(kIdentity);
  replace_field(identity, "fence", std::numeric_limits<Fence>::max() - 2);
  fleet.stores[1].tables.put_lock(identity);
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  for (int i = 0; i < 3; ++i) {
    REQUIRE(lock->lock_try("x"));
    CHECK(lock->fence() == i + 1);
    REQUIRE(lock->unlock() != UnlockResult::not_ours);
  }
}

// Otherwise its identity has that fence, and all locks get it from there.
TEST_CASE("a great fence that one member alone has gets into no identity",
          "[mirrored][M3][M6][R10]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const Fence great = GENERATE(Fence{1} << 62, std::numeric_limits<Fence>::max() - 2,
                               std::numeric_limits<Fence>::max() - 1);
  fleet.stores[0].tables.put_lock(free_with(great));
  fleet.empty(1);
  Captured log;
  fleet.rounds({&ann}, 66min);
  CHECK(log.count(severity_level::warning, "while the document of lock \"jobs\" on") == 1);
  CHECK(thrown_by([&] { ann.store->members()->readmit(1); }) == Errc::not_applied);
  fleet.stores[0].tables.put_lock(free_with(1));
  fleet.rounds({&ann}, 60s);
  CHECK(ann.condition(1) == MemberState::Condition::counts);
  ann.set_away(2, true);
  const auto lock = ann.lock("other");
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->fence() < 10);
}

TEST_CASE("a member that is left out for its great fence is not looked at in each round",
          "[mirrored][M9][M3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const Fence great = std::numeric_limits<Fence>::max() - 2;
  const auto lock = ann.lock("jobs");
  const bool from_the_start = GENERATE(true, false);
  if (!from_the_start) REQUIRE(lock->lock_try("x"));
  ann.pinger->ping_round();
  if (from_the_start) {
    Document identity = *fleet.stores[1].tables.raw_lock(kIdentity);
    replace_field(identity, "fence", great);
    fleet.stores[1].tables.put_lock(identity);
    REQUIRE(lock->lock_try("x"));
  } else {
    fleet.stores[1].tables.put_lock(free_with(great));
  }
  fleet.rounds({&ann, &bob}, 3 * 30s);
  const auto looks_of_a_round = [](const MirrorProcess& process) {
    const int before = process.members[0]->calls("inspect");
    process.pinger->ping_round();
    return process.members[0]->calls("inspect") - before;
  };
  CHECK(lock->still_held());
  CHECK(looks_of_a_round(ann) == looks_of_a_round(bob));
}

// Freed on the first member, taken on the second.
TEST_CASE("a list shows a hold as a look does where one member has a great fence",
          "[mirrored][M3][M8]") {
  HeldOnTwo held;
  REQUIRE(held.fleet.stores[0].store->release("jobs", *held.lock->record().ts) ==
          ReleaseResult::freed);
  held.fleet.stores[2].tables.put_lock(free_with(Fence{1} << 62));
  const auto bob = held.fleet.process("bob");
  const auto look = bob.store->inspect("jobs", Freshness::fresh);
  const auto list = bob.store->list();
  REQUIRE(look.lock);
  REQUIRE(list.locks.size() == 1);
  CHECK(look.lock->taken());
  CHECK(list.locks[0].record->taken());
  CHECK(list.locks[0].record->members == look.lock->members);
}

TEST_CASE("a fence that a majority has counts, however great it is", "[mirrored][M3][R10]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const Fence great = Fence{1} << 62;
  for (const std::size_t i : {0, 1}) fleet.stores[i].tables.put_lock(free_with(great));
  const auto lock = ann.lock("jobs");
  SECTION("and grows") {
    REQUIRE(lock->lock_try("x"));
    CHECK(lock->fence() == great + 1);
  }
  SECTION("up to the last but one") {
    for (const std::size_t i : {0, 1}) {
      fleet.stores[i].tables.put_lock(free_with(std::numeric_limits<Fence>::max() - 1));
    }
    CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::bad_record);
    CHECK(fleet.holders("jobs") == Names{"", "", ""});
  }
}

TEST_CASE("a free document with a greater fence keeps nobody from claiming anew",
          "[mirrored][M2]") {
  HeldOnTwo held;
  held.fleet.stores[2].tables.put_lock(free_with(5));
  held.fleet.clock->advance(17min);
  REQUIRE(held.lock->reclaim("again"));
  CHECK(held.lock->fence() == 6);
  CHECK(held.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
}

TEST_CASE("a hold from the process's own release gets to a member that came back since",
          "[mirrored][M6][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  spend_fences(ann);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  fleet.empty(2);
  REQUIRE(ann.store->members()->readmit(2));
  REQUIRE(ann.condition(2) == MemberState::Condition::counts);
  REQUIRE(lock->lock_try("again"));
  fleet.rounds({&ann}, 60s);
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
}

// As by a claim that came late. No holder counts on it, and no ping is beside it.
TEST_CASE("a hold from before a member came back keeps nobody from a lock that is free otherwise",
          "[mirrored][M6][R7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  spend_fences(ann);
  lose_and_readmit(fleet, ann, 1);
  fleet.put_taken(1);
  fleet.stores[1].store->remove_ping("eve");
  const auto held = bob.lock("jobs");
  SECTION("though another member is away") {
    ann.set_away(2, true);
    const auto lock = ann.lock("jobs");
    CHECK(lock->lock_try("x"));
    CHECK(fleet.holders("jobs") == Names{"ann", "ann", ""});
  }
  SECTION("but no holder on the others loses it") {
    bob.members[1]->fail("claim", Fault::rejected);
    REQUIRE(held->lock_try("x"));
    REQUIRE(fleet.holders("jobs") == Names{"bob", "eve", "bob"});
    CHECK_FALSE(ann.lock("jobs")->lock_try("x"));
    CHECK(held->still_held());
  }
}

TEST_CASE("a hold that is claimed anew gets to a member that came back, though that was away",
          "[mirrored][M3][M6][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  spend_fences(ann);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  lose_and_readmit(fleet, ann, 2);
  ann.set_away(2, true);
  fleet.clock->advance(16min);
  REQUIRE(lock->reclaim("again"));
  CHECK(lock->fence() > 5);
  ann.set_away(2, false);
  fleet.rounds({&ann}, 60s);
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
}

// Freed on the second member, and never to be carried on the third.
TEST_CASE("a listing shows that a hold is over also by a member with a great fence",
          "[mirrored][M3][M4]") {
  HeldOnTwo held;
  REQUIRE(held.fleet.stores[1].store->release("jobs", *held.lock->record().ts) ==
          ReleaseResult::freed);
  held.fleet.stores[2].tables.put_lock(free_with(Fence{1} << 62));
  const MemberListings listings = held.ann.store->members()->listings();
  REQUIRE(listings.of_members.size() == 3);
  CHECK(listings.of_members[0].over == std::vector<std::string>{"jobs"});
}
