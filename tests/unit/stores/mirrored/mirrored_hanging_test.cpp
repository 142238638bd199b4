#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "distlock/members.h"
#include "stores/mirrored/member.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Members whose calls hang for good, or whose writes alone do.

TEST_CASE("past a thousand calls that wait for a member, a further one is not sent",
          "[mirrored][M2]") {
  Gate gate;
  Gate done;
  std::atomic<std::size_t> made = 0;
  mirrored::Workers workers(1);
  const auto job = [&] {
    gate.pass();
    ++made;
  };
  workers.add(job);
  gate.wait_for(1);
  for (std::size_t i = 0; i < mirrored::kWaitingMost - 1; ++i) workers.add(job);
  workers.add([&] { done.pass(); });
  const auto refusal = thrown_by([&] { workers.add(job); });
  gate.open();
  done.wait_for(1);
  const std::size_t made_before = made;
  // The member answers again, and so its calls are sent again.
  const auto later = thrown_by([&] { workers.add(job); });
  done.open();
  CHECK(refusal == Errc::not_applied);
  CHECK(made_before == mirrored::kWaitingMost);
  CHECK_FALSE(later);
}

TEST_CASE("a member whose calls hang for good is named once too many wait for it",
          "[mirrored][M2]") {
  Gate gate;
  std::atomic<std::size_t> made = 0;
  ThreeMembers three(5s);
  const OpenedAtLast opened{gate};
  three.members[1]->during_each_call([&](const std::string&) { gate.pass(); });
  // Each leaves one call behind. The first ones end when that call has begun.
  three.members[0]->during_each_call(
      [&](const std::string&) { gate.wait_for(std::min(made.load(), mirrored::kCallsAtOnce)); });
  while (++made <= mirrored::kCallsAtOnce + mirrored::kWaitingMost) {
    static_cast<void>(three.store->carried("jobs"));
  }
  const MemberState state = three.store->members()->states()[1];
  gate.open();
  REQUIRE(state.failure);
  CHECK(state.failure->errc() == Errc::not_applied);
  CHECK(std::string(state.failure->what()) ==
        "no call of " + state.description + ": too many calls wait for its answer already");
}

TEST_CASE("a member that reads and does not write is waited for once", "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const std::size_t hanging = GENERATE(0, 1);
  three.members[hanging]->during_each_call([&](const std::string& call) {
    if (call == "claim" || call == "release") gate.pass();
  });
  static_cast<void>(three.store->claim("jobs", FromAbsent{}, claim_of(*three.store, Token{{1}})));
  const auto waits = three.waits();
  const Claim claim = claim_of(*three.store, Token{{2}});
  const auto granted = three.store->claim("other", FromAbsent{}, claim);
  const ReleaseResult freed = three.store->release("jobs", Token{{1}});
  gate.open();
  CHECK(waits == 1);
  CHECK(three.waits() == waits);
  REQUIRE(granted);
  CHECK(granted->members.size() == 2);
  CHECK(freed == ReleaseResult::freed);
}

TEST_CASE("a member that pings and reads alone is waited for once, however often it is pinged",
          "[mirrored][M2][M5]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.members[2]->during_each_call([&](const std::string& call) {
    if (call == "claim") gate.pass();
  });
  const std::vector<std::string> names{"first", "second", "third"};
  for (std::uint8_t i = 0; i < 3; ++i) {
    static_cast<void>(three.store->ping("ann"));
    CHECK(three.store->members()->pings("ann").size() == 3);
    const Claim claim = claim_of(*three.store, Token{{i}});
    CHECK(three.store->claim(names[i], FromAbsent{}, claim));
  }
  gate.open();
  CHECK(three.waits() == 1);
}

TEST_CASE("a repair that asks only a member that does not write waits for it once",
          "[mirrored][M2][M9]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.members[2]->during_each_call([&](const std::string& call) {
    if (call == "claim") gate.pass();
  });
  Claim claim = claim_of(*three.store, Token{{1}});
  const auto hold = three.store->claim("jobs", FromAbsent{}, claim);
  REQUIRE(hold);
  claim.fence = hold->fence;
  static_cast<void>(three.store->ping("ann"));
  three.settle();
  const Inspection seen = three.store->inspect("jobs", Freshness::fresh);
  REQUIRE(seen.members.size() == 3);
  const std::vector<MemberBasis> bases{{seen.members[2].member, FromAbsent{}}};
  Members& members = *three.store->members();
  CHECK(members.repair("jobs", bases, claim, [] { return true; }).empty());
  CHECK(three.waits() == 1);
  // It was asked all the same: its answer says when it writes again.
  gate.wait_for(2);
  gate.open();
}

TEST_CASE("an undo that asks only a member that does not write does not wait for it again",
          "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const Claim claim = claim_of(*three.store, Token{{1}});
  three.members[0]->during_each_call([&](const std::string& call) {
    if (call == "claim" || call == "release") gate.pass();
  });
  for (const std::size_t i : {1, 2}) {
    three.members[i]->before("claim", [&, i] {
      const Claim rival = claim_of(*three.members[i], Token{{2}});
      three.members[i]->claim("jobs", FromAbsent{}, rival);
    });
  }
  CHECK_FALSE(three.store->claim("jobs", FromAbsent{}, claim));
  CHECK(three.store->members()->take_left(claim.ts));
  CHECK(three.waits() == 1);
  gate.wait_for(2);
  gate.open();
}

TEST_CASE("a member that is to be marked and does not write is waited for once",
          "[mirrored][M2][M6]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.empty(2);
  three.members[2]->during_each_call([&](const std::string& call) {
    if (call == "claim") gate.pass();
  });
  Members& members = *three.store->members();
  static_cast<void>(three.store->list());
  REQUIRE(members.incomplete());
  three.clock->advance(three.store->call_limit() + 1ms);
  members.mend();
  CHECK(three.waits() == 1);
  static_cast<void>(three.store->ping("ann"));
  three.settle();
  members.mend();
  CHECK(three.waits() == 1);
  gate.wait_for(2);
  gate.open();
}

TEST_CASE("a member that does not write is not the first to be claimed", "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const Errc refusal = GENERATE(Errc::not_applied, Errc::permission_denied);
  std::vector<std::size_t> claimed;
  for (std::size_t i = 0; i < 3; ++i) {
    ann.members[i]->during_each_call([&, i](const std::string& call) {
      if (call != "claim") return;
      claimed.push_back(i);
      if (i == 0) throw Error(refusal, "the disk is full");
    });
  }
  const auto one = ann.lock("one");
  const auto other = ann.lock("other");
  REQUIRE(one->lock_try("x"));
  CHECK(claimed == std::vector<std::size_t>{0, 1, 2});
  claimed.clear();
  REQUIRE(other->lock_try("x"));
  CHECK(claimed == std::vector<std::size_t>{1, 2, 0});
  for (const auto& member : ann.members) member->during_each_call({});
}

// Each claim and each release leaves one call behind, more of them than a member has threads.
TEST_CASE("writes that hang on a member hold up no read of it, however many they are",
          "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.members[2]->during_each_call([&](const std::string& call) {
    if (call == "claim" || call == "release") gate.pass();
  });
  for (std::uint8_t i = 0; i < 2 * mirrored::kCallsAtOnce; ++i) {
    const std::string name = "job " + std::to_string(i);
    const Claim claim = claim_of(*three.store, Token{{i}});
    REQUIRE(three.store->claim(name, FromAbsent{}, claim));
    CHECK(three.store->release(name, claim.ts) == ReleaseResult::freed);
  }
  CHECK(three.waits() == 1);
}

TEST_CASE("a claim ends within its call limit, however many members hang, one after the other",
          "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const Claim claim = claim_of(*three.store, Token{{1}});
  three.members[0]->during_each_call([&](const std::string&) { gate.pass(); });
  for (const std::size_t member : {1, 2}) {
    three.members[member]->during_each_call([&](const std::string& call) {
      if (call == "claim" || call == "release") gate.pass();
    });
  }
  const auto before = three.clock->waited();
  const auto failed = thrown_by([&] { three.store->claim("jobs", FromAbsent{}, claim); });
  const auto waited = three.clock->waited() - before;
  gate.open();
  CHECK(failed == Errc::outcome_unknown);
  CHECK(waited <= three.store->call_limit());
}

TEST_CASE("a claim for which looks have left no time is not made", "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const Claim claim = claim_of(*three.store, Token{{1}});
  // Behind the look at the lock: the members' answers are in, and its thread has the rest.
  three.members[0]->during_each_call([&](const std::string& call) {
    if (call == "inspect") three.clock->advance(three.store->call_limit());
  });
  const auto failed = thrown_by([&] { three.store->claim("jobs", FromAbsent{}, claim); });
  three.members[0]->during_each_call({});
  CHECK(failed == Errc::not_applied);
  for (const OpenedMemoryStore& member : three.stores) CHECK_FALSE(member.tables.raw_lock("jobs"));
}

TEST_CASE("a member that had less time than a call may take does not count as away",
          "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const Claim claim = claim_of(*three.store, Token{{1}});
  const Claim later = claim_of(*three.store, Token{{2}});
  // Before the others are claimed, five eighths of the claim's time are over.
  std::atomic<bool> looked = false;
  std::atomic<bool> claimed = false;
  three.members[0]->during_each_call([&](const std::string& call) {
    const auto limit = three.store->call_limit();
    if (call == "inspect" && !looked.exchange(true)) three.clock->advance(limit * 3 / 8);
    if (call == "claim" && !claimed.exchange(true)) three.clock->advance(limit * 2 / 8);
  });
  three.members[1]->during_each_call([&](const std::string& call) {
    if (call == "claim") gate.pass();
  });
  CHECK(three.store->claim("jobs", FromAbsent{}, claim));
  const auto before = three.clock->waited();
  CHECK(three.store->claim("other", FromAbsent{}, later));
  CHECK(three.clock->waited() - before == three.store->call_limit() / 2);
  three.members[0]->during_each_call({});
}
