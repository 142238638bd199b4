#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// The limits of a return to the set, and the return that an operator asks for (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

MemberState state(const MirrorProcess& process, std::size_t member) {
  return process.store->members()->states()[member];
}

bool readmit(const MirrorProcess& process, std::size_t member) {
  return process.store->members()->readmit(member);
}

}  // namespace

TEST_CASE("a window that is longer than the set's is refused", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs", {.takeover_after = 1h + 1ms});
  try {
    static_cast<void>(lock->lock_try("x"));
    FAIL("it was granted");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_argument);
    const std::string what = error.what();
    CHECK(what.find("3600001 ms") != std::string::npos);
    CHECK(what.find("3600000 ms") != std::string::npos);
    CHECK(what.find("takeover_after") != std::string::npos);
  }
  CHECK(fleet.holders("jobs") == std::vector<std::string>(3, ""));
  CHECK(ann.lock("jobs", {.takeover_after = 1h})->lock_try("x"));
}

TEST_CASE("a set keeps the longest window of its founder", "[mirrored][M6]") {
  MirrorFleet fleet;
  std::vector<std::shared_ptr<Store>> members;
  for (const auto& opened : fleet.stores) members.push_back(opened.store);
  const auto founder =
      make_mirrored_store(members, fleet.clock,
                          {.drive = MirrorDrive::caller, .random = {}, .longest_takeover = 10min});
  static_cast<void>(founder->list());
  for (const std::chrono::milliseconds window : {0ms, std::chrono::milliseconds{24h * 365} + 1ms}) {
    CHECK(thrown_by([&] {
            return make_mirrored_store(members, fleet.clock, {.longest_takeover = window});
          }) == Errc::invalid_argument);
  }
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  CHECK(thrown_by([&] { return ann.lock("jobs", {.takeover_after = 11min})->lock_try("x"); }) ==
        Errc::invalid_argument);
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  CHECK(state(ann, 1).kept_out_for == 10min);
  fleet.rounds({&ann}, 23 * 30s);
  REQUIRE(state(ann, 1).condition == Condition::counts);
  CHECK(thrown_by([&] { return ann.lock("jobs", {.takeover_after = 11min})->lock_try("x"); }) ==
        Errc::invalid_argument);
}

TEST_CASE("a member whose clock is set back is kept out for the longest window at most",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  fleet.clocks_can_step = true;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  fleet.clocks[1]->step(-2h);
  CHECK(state(ann, 1).kept_out_for == 1h);
}

TEST_CASE("a member with taken locks of its own is not taken back", "[mirrored][log][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  Captured log;
  fleet.empty(1);
  SECTION("when it is found") {
    fleet.put_taken(1);
    fleet.rounds({&ann}, 200 * 30s);
    CHECK(state(ann, 1).condition == Condition::empty);
  }
  SECTION("when the wait is over") {
    fleet.rounds({&ann}, 3 * 30s);
    fleet.put_taken(1);
    fleet.rounds({&ann}, 200 * 30s);
    CHECK(state(ann, 1).condition == Condition::kept_out);
    CHECK(state(ann, 1).kept_out_for == 0ms);
  }
  CHECK(log.count(severity_level::warning, "has locks of its own") == 1);
  CHECK(thrown_by([&] { return readmit(ann, 1); }) == Errc::not_applied);
  fleet.empty(1);
  fleet.rounds({&ann}, 130 * 30s);
  CHECK(state(ann, 1).condition == Condition::counts);
}

TEST_CASE(
    "the log tells once that a member is kept out, why it cannot come back, and that it is back",
    "[mirrored][log][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  Captured log;
  const auto warned = [&](const std::string& of) { return log.count(severity_level::warning, of); };
  const auto told_it_is_back = [&] {
    return log.count(severity_level::info, "takes part in its mirrored store again");
  };
  fleet.empty(1);
  fleet.put_taken(1);
  fleet.rounds({&ann}, 9 * 30s);
  CHECK(warned("has locks of its own") == 1);
  fleet.empty(1);
  fleet.rounds({&ann}, 9 * 30s);
  CHECK(warned("takes part again when the longest window has passed") == 1);
  CHECK(told_it_is_back() == 0);
  fleet.rounds({&ann}, 130 * 30s);
  CHECK(warned("takes part again when the longest window has passed") == 1);
  CHECK(told_it_is_back() == 1);
}

TEST_CASE("the log names once the malformed document that keeps a member out",
          "[mirrored][log][M6][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  Captured log;
  fleet.stores[2].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::string("odd")}});
  fleet.rounds({&ann}, 130 * 30s);
  REQUIRE(state(ann, 1).condition == Condition::kept_out);
  CHECK(log.count(severity_level::warning, "while the document of lock \"jobs\" on") == 1);
}

TEST_CASE("a vote from before a member lost its data does not count when it is back",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  for (int i = 0; i < 9; ++i) {
    REQUIRE(lock->lock_try("x"));
    REQUIRE(lock->unlock() == UnlockResult::released);
  }
  ann.set_away(0, true);
  // So late after the release that the identity is read.
  fleet.clock->advance(ann.store->call_limit());
  // Between its grant and the look at its identity.
  ann.members[1]->after("claim", [&] {
    fleet.empty(1);
    REQUIRE(readmit(bob, 1));
  });
  bool got = false;
  const auto outcome = thrown_by([&] { return got = lock->lock_try("x"); });
  CHECK_FALSE(got);
  CHECK(outcome == Errc::outcome_unknown);
}

TEST_CASE("an operator takes a member back at once", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  const Fence last = lock->fence();
  REQUIRE(lock->unlock() == UnlockResult::released);
  fleet.empty(1);
  const bool marked = GENERATE(false, true);
  if (marked) fleet.rounds({&ann}, 3 * 30s);
  REQUIRE(state(ann, 1).condition == (marked ? Condition::kept_out : Condition::empty));
  CHECK(readmit(fleet.process("operator"), 1));
  CHECK(state(ann, 1).condition == Condition::counts);
  CHECK_FALSE(readmit(ann, 1));
  ann.pinger->ping_round();
  ann.set_away(0, true);
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->fence() > last);
}

TEST_CASE("an operator is refused where a member cannot come back", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  CHECK(thrown_by([&] { return readmit(ann, 3); }) == Errc::invalid_argument);
  SECTION("it does not answer") {
    ann.set_away(1, true);
    CHECK(thrown_by([&] { return readmit(ann, 1); }) == Errc::not_applied);
  }
  SECTION("no majority counts") {
    fleet.empty(1);
    fleet.empty(2);
    CHECK(thrown_by([&] { return readmit(ann, 1); }) == Errc::not_applied);
  }
  SECTION("it is of another set") {
    MirrorFleet other;
    other.process("bob").pinger->ping_round();
    std::swap(fleet.stores[1].tables, other.stores[1].tables);
    CHECK(thrown_by([&] { return readmit(ann, 1); }) == Errc::invalid_argument);
  }
}

TEST_CASE("a member that is exchanged for one of another set stays out", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  MirrorFleet other;
  const auto bob = other.process("bob");
  bob.pinger->ping_round();
  SECTION("of one that counts there") {}
  SECTION("of one that is kept out there") {
    other.empty(1);
    other.rounds({&bob}, 3 * 30s);
    REQUIRE(state(bob, 1).condition == Condition::kept_out);
  }
  std::swap(fleet.stores[1].tables, other.stores[1].tables);
  fleet.rounds({&ann}, 200 * 30s);
  CHECK(state(ann, 1).condition == Condition::strange);
}

TEST_CASE("a mark of a set that is gone does not keep its members from a new one",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  REQUIRE(state(ann, 1).condition == Condition::kept_out);
  if (GENERATE(false, true)) ann.pinger->stop();  // It leaves no ping.
  fleet.empty(0);
  fleet.outlast_founders();
  const auto bob = fleet.process("bob");
  SECTION("while one member of the old set is left there is no new one") {
    bob.set_away(2, true);
    CHECK(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);
    bob.set_away(2, false);
    CHECK(thrown_by([&] { return bob.store->list(); }) == Errc::not_applied);
  }
  fleet.empty(2);
  const auto lock = bob.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>(3, "bob"));
}

TEST_CASE("a hold that ran out is claimed anew though a member came back with greater fences",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto other = ann.lock("other");
  for (int i = 0; i < 5; ++i) {
    REQUIRE(other->lock_try("x"));
    REQUIRE(other->unlock() == UnlockResult::released);
  }
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  REQUIRE(readmit(ann, 1));
  fleet.rounds({&ann}, 1 * 30s);
  fleet.clock->advance(16min);
  REQUIRE(lock->reclaim("again"));
  CHECK(lock->held());
}

TEST_CASE("a hold from before a member came back is not looked at in each round",
          "[mirrored][M6][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  REQUIRE(readmit(ann, 1));
  fleet.rounds({&ann}, 3 * 30s);
  fleet.rounds({&bob}, 3 * 30s);
  const auto looks_of_a_round = [](const MirrorProcess& process) {
    const int before = process.members[0]->calls("inspect");
    process.pinger->ping_round();
    return process.members[0]->calls("inspect") - before;
  };
  CHECK(lock->held());
  CHECK(looks_of_a_round(ann) == looks_of_a_round(bob));
}
