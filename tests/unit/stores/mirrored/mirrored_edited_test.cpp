#include <catch2/catch.hpp>
#include <string>

#include "distlock/error.h"
#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/tampering.h"
#include "unit/stores/mirrored/held_on_two.h"

// Documents that somebody edits on one member: a hold, and the member's identity (R14, M6, M9).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Ann holds "jobs" on all members, and one of them names another process.
struct NamedByOne {
  explicit NamedByOne(const std::string& other) {
    bob.pinger->ping_round();
    REQUIRE(held->lock_try("x"));
    tamper(fleet.stores[member].tables, "jobs", "process", other);
  }

  const std::size_t member = GENERATE(as<std::size_t>(), 0, 1, 2);
  MirrorFleet fleet;
  const MirrorProcess ann = fleet.process("ann");
  const MirrorProcess bob = fleet.process("bob");
  const std::unique_ptr<DistributedLock> held = ann.lock("jobs");
};

}  // namespace

TEST_CASE("a hold that one member says to be of another process is no stray of that one",
          "[mirrored][R8][M1]") {
  const NamedByOne scene("bob");
  SECTION("at a claim") { CHECK_FALSE(scene.bob.lock("jobs")->lock_try("y")); }
  SECTION("at its rounds") {
    for (int i = 0; i < 3; ++i) scene.bob.pinger->ping_round();
  }
  CHECK(scene.held->still_held());
  CHECK_FALSE(scene.bob.lock("jobs")->lock_try("y"));
}

TEST_CASE("a hold of which each member names another process is freed by one that lives",
          "[mirrored][R8][M1]") {
  NamedByOne scene("bob");
  const std::size_t next = (scene.member + 1) % 3;
  const auto frees_within = [&](std::chrono::minutes time) {
    scene.fleet.rounds({&scene.bob}, time);
    return scene.bob.lock("jobs")->lock_try("y");
  };
  SECTION("when its holder counts on it no more") {
    tamper(scene.fleet.stores[next].tables, "jobs", "process", std::string("eve"));
    CHECK_FALSE(frees_within(14min));
    CHECK(frees_within(3min));
  }
  SECTION("and not where its holder may still have a majority") {
    scene.bob.set_away(next, true);
    CHECK_FALSE(frees_within(30min));
    CHECK(scene.fleet.holders("jobs")[next] == "ann");
  }
}

TEST_CASE("a hold on a bare majority is not freed by another that one member names",
          "[mirrored][R8][M1]") {
  HeldOnTwo scene;
  const MirrorProcess bob = scene.fleet.process("bob");
  bob.pinger->ping_round();
  tamper(scene.fleet.stores[0].tables, "jobs", "process", std::string("bob"));
  SECTION("where all are there") {}
  SECTION("where the other one is away from that one") { bob.set_away(1, true); }
  for (int i = 0; i < 3; ++i) bob.pinger->ping_round();
  CHECK_FALSE(bob.lock("jobs")->lock_try("y"));
  CHECK(scene.fleet.holders("jobs") == Names{"bob", "ann", ""});
  CHECK(scene.lock->held());
}

TEST_CASE("a hold ends that counts on a member which says to have lost a greater fence",
          "[mirrored][M5][M6]") {
  HeldOnTwo scene;
  scene.ann.set_away(2, true);
  SECTION("a lesser one says nothing") {
    tamper(scene.fleet.stores[0].tables, kIdentityName, "fence", scene.lock->fence());
    scene.fleet.rounds({&scene.ann}, 2min);
    CHECK(scene.lock->held());
  }
  SECTION("and the same one") {
    // The document states one more.
    tamper(scene.fleet.stores[0].tables, kIdentityName, "fence", scene.lock->fence() + 1);
    scene.fleet.rounds({&scene.ann}, 2min);
    CHECK_FALSE(scene.lock->held());
  }
}

TEST_CASE("an edit on one member does not spread by a repair while the others are away",
          "[mirrored][M9][R14]") {
  MirrorFleet fleet(5);
  MirrorProcess ann = fleet.process("ann");
  ann.pinger->ping_round();
  for (const std::size_t away : {3U, 4U}) ann.set_away(away, true);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  for (const std::size_t away : {3U, 4U}) ann.set_away(away, false);
  tamper(fleet.stores[0].tables, "jobs", "takeover_after", std::int64_t{1000});
  for (const std::size_t away : {1U, 2U}) ann.set_away(away, true);
  fleet.rounds({&ann}, 2min);
  for (const std::size_t repaired : {3U, 4U}) {
    const auto there = fleet.stores[repaired].store->inspect("jobs", Freshness::fresh).lock;
    CHECK((!there || there->takeover_after != 1s));
  }
  for (const std::size_t away : {1U, 2U}) ann.set_away(away, false);
  fleet.rounds({&ann}, 2min);
  const auto there = fleet.stores[3].store->inspect("jobs", Freshness::fresh).lock;
  REQUIRE(there);
  CHECK(there->takeover_after == lock->record().takeover_after);
  CHECK(lock->held());
}

TEST_CASE("a hold that no member names its process for any more ends at the next round",
          "[mirrored][M5]") {
  HeldOnTwo scene;
  tamper(scene.fleet.stores[0].tables, "jobs", "process", std::string("eve"));
  SECTION("where others are away") { scene.ann.set_away(1, true); }
  SECTION("where all are there") {
    tamper(scene.fleet.stores[1].tables, "jobs", "process", std::string("eve"));
  }
  scene.fleet.rounds({&scene.ann}, 30s);
  CHECK_FALSE(scene.lock->held());
}

TEST_CASE("a hold that one member says to be of a dead process is written to it again",
          "[mirrored][M5][M9]") {
  NamedByOne scene("eve");
  scene.fleet.rounds({&scene.ann}, 2min);
  CHECK(scene.fleet.holders("jobs") == std::vector<std::string>(3, "ann"));
  CHECK(scene.held->held());
}

TEST_CASE("a member that says a hold to be of another process protects it no more",
          "[mirrored][M5]") {
  NamedByOne scene("eve");
  scene.ann.members[scene.member]->during_each_call([](const std::string& call) {
    if (call == "claim") throw Error(Errc::not_applied, "no repair");
  });
  scene.ann.set_away((scene.member + 1) % 3, true);
  scene.fleet.rounds({&scene.ann}, 16min);
  CHECK_FALSE(scene.held->held());
}

TEST_CASE("a member whose identity somebody has changed is told of, and left",
          "[mirrored][log][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  Captured log;
  tamper(fleet.stores[1].tables, mirrored::kIdentityName, "process", std::string("somebody"));
  fleet.rounds({&ann}, 9 * 30s);
  const std::string advice = "somebody has changed its document";
  CHECK(log.count(severity_level::warning, advice) == 1);
  CHECK_THROWS_WITH(ann.store->members()->readmit(1), Catch::Contains(advice));
  const Document kept = fleet.stores[1].tables.raw_lock(mirrored::kIdentityName).value();
  CHECK(std::get<std::string>(*find_field(kept, "process")) == "somebody");
  fleet.empty(1);
  fleet.rounds({&ann}, 130 * 30s);
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}

TEST_CASE("texts of a member come into messages as text only", "[mirrored][M7][log]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const std::string strange = "\x1b[2J";
  for (const std::size_t member : {0, 1}) {
    tamper(fleet.stores[member].tables, mirrored::kIdentityName, "who", strange);
  }
  fleet.clock->advance(2min);
  CHECK_THROWS_WITH(fleet.process("bob").store->list(),
                    Catch::Contains("\\x1b[2J") && !Catch::Contains(strange));
  tamper(fleet.stores[0].tables, mirrored::kIdentityName, "who", std::string("member 1 of 3"));
  CHECK_THROWS_WITH(ann.store->members()->readmit(1),
                    Catch::Contains("\\x1b[2J") && !Catch::Contains(strange));
}

TEST_CASE("a document that can be no lock's keeps no member out", "[mirrored][M6][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  const std::size_t beside = GENERATE(as<std::size_t>(), 1, 2);
  fleet.stores[beside].tables.put_lock({{"_id", std::int32_t{5}}, {"state", std::int32_t{2}}});
  fleet.rounds({&ann}, 130 * 30s);
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}

TEST_CASE("a hold that was somebody's meanwhile is nobody's for a whole window before it is freed",
          "[mirrored][R8][M1]") {
  NamedByOne scene("bob");
  const std::size_t next = (scene.member + 1) % 3;
  const auto name_there = [&](const std::string& process) {
    tamper(scene.fleet.stores[next].tables, "jobs", "process", process);
  };
  name_there("eve");
  scene.fleet.rounds({&scene.bob}, 1min);
  name_there("ann");
  scene.fleet.rounds({&scene.bob}, 20min);
  REQUIRE(scene.fleet.holders("jobs")[next] == "ann");
  name_there("eve");
  scene.fleet.rounds({&scene.bob}, 14min);
  CHECK(scene.fleet.holders("jobs")[next] == "eve");
  scene.fleet.rounds({&scene.bob}, 3min);
  CHECK(scene.fleet.holders("jobs")[next].empty());
}

TEST_CASE("a member that is kept out and has taken locks of its own shows that as its fault",
          "[mirrored][M6][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  REQUIRE(ann.condition(1) == MemberState::Condition::kept_out);
  CHECK(ann.store->members()->states()[1].problem.empty());
  fleet.put_taken(1);
  CHECK_THAT(ann.store->members()->states()[1].problem, Catch::Contains("locks of its own"));
}

// No lock is there yet.
TEST_CASE("a member whose identity has a great fence shows that as its fault",
          "[mirrored][M3][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  tamper(fleet.stores[2].tables, mirrored::kIdentityName, "fence", (Fence{1} << 62) + 1);
  const auto states = ann.store->members()->states();
  CHECK(states[1].problem.empty());
  CHECK(states[2].condition == MemberState::Condition::counts);
  CHECK_THAT(states[2].problem, Catch::Contains("its identity has a fence"));
}

TEST_CASE("an opening tells members whose identity somebody has changed from empty ones",
          "[mirrored][M6][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  for (const std::size_t i : {1, 2}) {
    tamper(fleet.stores[i].tables, mirrored::kIdentityName, "process", std::string("somebody"));
  }
  fleet.clock->advance(2min);
  CHECK_THROWS_WITH(fleet.process("bob").store->list(),
                    Catch::Contains(std::string(mirrored::kIdentityChanged)) &&
                        !Catch::Contains("is empty") && !Catch::Contains("other members"));
}
