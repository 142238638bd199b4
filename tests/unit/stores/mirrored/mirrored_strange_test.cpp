#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Members of a mirrored store whose clocks differ, that are exchanged for a moment, or that a claim
// reaches behind its release (M2, M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// Three members whose clocks have one name, as those of SQLite files on one machine do.
void add_members(MirrorFleet& fleet, std::chrono::milliseconds first_off) {
  for (const auto off : {first_off, 0ms, 0ms}) {
    fleet.clock->set_wall_off(off);
    fleet.stores.push_back(open_memory_store(fleet.clock, {}));
  }
  fleet.clock->set_wall_off(0ms);
}

// How long a claim without an answer may still come.
std::chrono::nanoseconds longest_under_way(const MirrorProcess& process) {
  return 3 * process.store->call_limit() + 1min;
}

}  // namespace

TEST_CASE("members whose clocks have one name may be any time apart", "[mirrored][M2][R4][R8]") {
  MirrorFleet fleet(0);
  add_members(fleet, GENERATE(-5h, 5h));
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  SECTION("with the first of them away a lock is to be had") {
    ann.set_away(0, true);
    CHECK(ann.lock("jobs")->lock_try("x"));
  }
  SECTION("a claim that comes past its cutoff finds nothing to claim") {
    ann.set_away(0, true);
    ann.members[1]->fail("claim", Fault::rejected);
    ann.members[2]->fail("claim", Fault::delayed);
    Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{1}}};
    claim.takeover_after = 16min;
    claim.cutoff = *ann.store->inspect("jobs", Freshness::fresh).now;
    claim.cutoff.time += ann.store->call_limit();
    CHECK(thrown_by([&] { return ann.store->claim("jobs", FromAbsent{}, claim); }) ==
          Errc::outcome_unknown);
    fleet.clock->advance(3 * ann.store->call_limit());
    ann.members[2]->deliver();
    CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "", ""});
  }
}

TEST_CASE("a claim that a member granted which was exchanged for a moment is not undone and held",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();

  MemoryTables exchanged;
  MemoryTables& second = fleet.stores[1].tables;
  const auto exchange = [&] { std::swap(second, exchanged); };
  ann.members[1]->before("claim", [&] {
    ann.members[1]->before("inspect", [&] {
      exchange();
      ann.members[1]->before("inspect", exchange);
    });
  });
  ann.members[2]->fail("claim", Fault::rejected);
  ann.members[0]->fail("release", Fault::delayed);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));

  ann.members[0]->deliver();
  CHECK_FALSE(bob.lock("jobs")->lock_try("y"));
  CHECK(lock->held());
}

TEST_CASE("a claim that a member refused takes nothing there when the request comes again",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.members[0]->fail("release", Fault::delayed);
  REQUIRE(lock->unlock() == UnlockResult::released);
  REQUIRE(fleet.holders("jobs") == std::vector<std::string>{"ann", "", ""});

  ann.members[0]->fail("claim", Fault::doubled);
  REQUIRE(lock->lock_try("x"));
  const auto there = [&] { return fleet.stores[0].store->carried("jobs")->ts.value(); };
  CHECK(there() == lock->record().ts);
  ann.members[0]->deliver();
  CHECK(there() == lock->record().ts);
}

TEST_CASE("a claim from a hold that ran out goes to those that carry it, and to those that lack it",
          "[mirrored][M2][R8][R9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[0]->fail("claim", Fault::lost_request);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(fleet.holders("jobs") == std::vector<std::string>{"", "ann", "ann"});
  fleet.clock->advance(16min);
  REQUIRE(lock->reclaim("again"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", "ann"});
  for (std::size_t i = 0; i < 3; ++i) CHECK(fleet.fence(i, "jobs") == 2);
}

TEST_CASE("a claim follows a release without a look where all members have freed it",
          "[mirrored][M2][M6][R2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  SECTION("all have freed it") {
    REQUIRE(lock->unlock() == UnlockResult::released);
    // The identity is read, after the claim, where a member of before may have come between.
    const bool late = GENERATE(false, true);
    if (late) fleet.clock->advance(ann.store->call_limit() / 2 + 1ms);
    ann.members[1]->forget_calls();
    REQUIRE(lock->lock_try("x"));
    CHECK(ann.members[1]->calls("claim") == 1);
    CHECK(ann.members[1]->calls("inspect") == (late ? 1 : 0));
  }
  SECTION("all have freed it, and one has lost its data since") {
    REQUIRE(lock->unlock() == UnlockResult::released);
    fleet.empty(1);
    REQUIRE(lock->lock_try("x"));
    CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "", "ann"});
  }
  SECTION("one was away, and a later hold is on all of them again") {
    ann.set_away(1, true);
    REQUIRE(lock->unlock() == UnlockResult::released);
    ann.set_away(1, false);
    ann.pinger->ping_round();
    REQUIRE(lock->lock_try("x"));
    CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", "ann"});
  }
}

TEST_CASE("a claim from the process's own release asks all members at once", "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  for (const auto* one : {&ann, &bob}) one->pinger->ping_round();
  const auto of_ann = ann.lock("jobs");
  const auto of_bob = bob.lock("jobs");
  REQUIRE(of_ann->lock_try("x"));
  REQUIRE(of_ann->unlock() == UnlockResult::released);
  ann.members[1]->forget_calls();
  // Bob has the first member by then, and asks the others.
  bob.members[1]->during_each_call([&](const std::string& call) {
    if (call == "claim" && !of_ann->held()) CHECK(of_ann->lock_try("again"));
  });
  CHECK_FALSE(of_bob->lock_try("x"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "ann", "ann"});
  // No look at the lock: that claim was the first one.
  CHECK(ann.members[1]->calls("inspect") == 0);
}

TEST_CASE("a member that is exchanged for a moment says nothing about a release",
          "[mirrored][M2][R11]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(1, true);
  const MemoryTables carrying = fleet.stores[0].tables;
  fleet.empty(0);
  CHECK(lock->unlock() == UnlockResult::pending);
  fleet.stores[0].tables = carrying;
  REQUIRE(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
  CHECK(ann.pinger->stats().pending_releases == 1);
  ann.set_away(1, false);
  fleet.rounds({&ann}, 60s);
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "", ""});
  CHECK(ann.pinger->stats().pending_releases == 0);
}

TEST_CASE("no answer of a member counts by an identity that came back long after",
          "[mirrored][M2][M5][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  FaultyStore& member = *ann.members[1];
  MemoryTables& tables = fleet.stores[1].tables;
  MemoryTables kept;
  const auto lose_data_during = [&](const std::string& call) {
    ann.set_away(0, true);
    member.before(call, [&] {
      kept = std::exchange(tables, MemoryTables{});
      member.before("inspect", [&] {
        tables = kept;
        fleet.clock->advance(2 * member.call_limit() + 1ms);
      });
    });
  };
  const auto lock = ann.lock("jobs");
  SECTION("a grant") {
    lose_data_during("claim");
    CHECK(thrown_by([&] { (void)lock->lock_try("x"); }) == Errc::outcome_unknown);
    CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "", "ann"});
  }
  SECTION("a ping") {
    REQUIRE(lock->lock_try("x"));
    const auto end = lock->valid_until();
    fleet.clock->advance(30s);
    lose_data_during("ping");
    ann.pinger->ping_round();
    CHECK(lock->valid_until() == end);
  }
  SECTION("a release") {
    REQUIRE(lock->lock_try("x"));
    const auto ts = fleet.stores[1].store->inspect("jobs", Freshness::fresh).lock->ts;
    lose_data_during("release");
    CHECK(thrown_by([&] { ann.store->release("jobs", *ts); }) == Errc::outcome_unknown);
    CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
  }
}

TEST_CASE("an unlock says pending while a late claim could make the hold a majority's again",
          "[mirrored][M2][R11]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[0]->fail("claim", Fault::delayed);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(1, true);
  SECTION("it comes") {
    CHECK(lock->unlock() == UnlockResult::pending);
    ann.members[0]->deliver();
    REQUIRE(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
    CHECK(ann.pinger->stats().pending_releases == 1);
    ann.set_away(1, false);
    ann.pinger->ping_round();
    CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "", ""});
  }
  SECTION("it has come, and is freed") {
    ann.members[0]->deliver();
    CHECK(lock->unlock() == UnlockResult::released);
  }
  SECTION("it may still come") {
    // An unlock tries again for some seconds.
    fleet.clock->advance(longest_under_way(ann) - ann.store->call_limit());
    CHECK(lock->unlock() == UnlockResult::pending);
  }
  SECTION("it can come no more") {
    fleet.clock->advance(longest_under_way(ann) + 1ms);
    CHECK(lock->unlock() == UnlockResult::released);
  }
}

TEST_CASE("a stop leaves the ping on a member that a late claim may still reach",
          "[mirrored][M2][R7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[0]->fail("claim", Fault::delayed);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  ann.pinger->stop();
  ann.members[0]->deliver();
  CHECK(fleet.stores[0].tables.raw_ping("ann"));
  CHECK_FALSE(fleet.stores[1].tables.raw_ping("ann"));

  // The two others are no majority without it once one of them has lost its data.
  fleet.empty(1);
  const auto bob = fleet.process("bob");
  const auto next = bob.lock("jobs");
  CHECK_FALSE(next->lock_try("y"));
  fleet.clock->advance(16min);
  CHECK(next->lock_try("y"));
}

TEST_CASE("a stop leaves the ping until a late claim can reach that member no more",
          "[mirrored][M2][R7][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[0]->fail("claim", Fault::delayed);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  const bool over = GENERATE(false, true);
  fleet.clock->advance(longest_under_way(ann) + (over ? 1ms : 0ms));
  ann.pinger->stop();
  CHECK(fleet.stores[0].tables.raw_ping("ann").has_value() == !over);
}
