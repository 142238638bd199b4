#include <catch2/catch.hpp>

#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "stores/mirrored/quorum.h"
#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/tampering.h"

// How members of a mirrored store fare, and which of them carry a lock, as people are shown it.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

std::vector<MemberState> states(const MirrorProcess& process) {
  return process.store->members()->states();
}

}  // namespace

TEST_CASE("members that answer count, and the others say why they do not", "[mirrored][M6][M8]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  for (const MemberState& member : states(ann)) CHECK(member.condition == Condition::empty);
  CHECK(fleet.holders("jobs") == std::vector<std::string>(5, ""));  // A look founds no set.

  ann.pinger->ping_round();
  ann.set_away(1, true);
  fleet.empty(3);
  const auto seen = states(ann);
  REQUIRE(seen.size() == 5);
  CHECK(seen[0].condition == Condition::counts);
  CHECK(seen[0].member != Token{});
  CHECK_FALSE(seen[0].failure);
  CHECK(seen[1].condition == Condition::away);
  CHECK(seen[1].failure->what() == std::string("inspect: the member is away"));
  CHECK_FALSE(seen[1].ahead);
  CHECK(seen[3].condition == Condition::empty);
}

TEST_CASE("a member that answers alone is no stranger", "[mirrored][M8]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  const auto bob = fleet.process("bob");
  bob.set_away(0, true);
  bob.set_away(1, true);
  CHECK(states(bob)[2].condition == Condition::counts);
}

TEST_CASE("members of another set or place are strange", "[mirrored][M7]") {
  MirrorFleet fleet;
  fleet.process("ann").pinger->ping_round();
  MirrorFleet other;
  other.process("bob").pinger->ping_round();
  const auto of_both =
      make_mirrored_store({fleet.stores[0].store, fleet.stores[1].store, other.stores[2].store},
                          fleet.clock, {MirrorDrive::caller, {}});
  CHECK(of_both->members()->states()[2].condition == Condition::strange);
  const auto turned =
      make_mirrored_store({fleet.stores[1].store, fleet.stores[0].store, fleet.stores[2].store},
                          fleet.clock, {MirrorDrive::caller, {}});
  CHECK(turned->members()->states()[0].condition == Condition::strange);
}

TEST_CASE("a member is behind by the holds of a majority that it lacks", "[mirrored][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  const auto jobs = ann.lock("jobs");
  const auto rotate = ann.lock("rotate");
  REQUIRE(jobs->lock_try("x"));
  REQUIRE(rotate->lock_try("x"));
  ann.set_away(2, false);
  const auto bob = fleet.process("bob");
  const auto seen = states(bob);
  CHECK(seen[0].lacks == 0);
  CHECK(seen[2].lacks == 2);

  const Listing listing = bob.store->list();
  CHECK(listing.locks.at(0).record->members == std::vector<Token>{seen[0].member, seen[1].member});
  REQUIRE(jobs->unlock() == UnlockResult::released);
  CHECK(states(bob)[2].lacks == 1);
}

TEST_CASE("a member lacks a hold that it carries with no greater fence than holds that it has lost",
          "[mirrored][M3][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto jobs = ann.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  const std::string name(mirrored::kIdentityName);
  Document identity = *fleet.stores[2].tables.raw_lock(name);
  replace_field(identity, "fence", jobs->fence() + 1);
  fleet.stores[2].tables.put_lock(identity);
  const auto bob = fleet.process("bob");
  const auto seen = states(bob);
  CHECK(seen[1].lacks == 0);
  CHECK(seen[2].lacks == 1);
  CHECK(bob.store->list().locks.at(0).record->members ==
        std::vector<Token>{seen[0].member, seen[1].member});
}

TEST_CASE("no member is behind by a hold that a minority carries on", "[mirrored][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto jobs = ann.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  ann.set_away(0, true);
  REQUIRE(jobs->unlock() == UnlockResult::released);
  REQUIRE(fleet.holders("jobs") == std::vector<std::string>{"ann", "", ""});
  const auto seen = states(fleet.process("bob"));
  CHECK(seen[1].lacks == 0);
  CHECK(seen[2].lacks == 0);
}

TEST_CASE("a look shows the hold that is in the way, though as many members are free",
          "[mirrored][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto jobs = ann.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  const Token ts = jobs->record().ts.value();
  REQUIRE(fleet.stores[0].store->release("jobs", ts) == ReleaseResult::freed);
  const auto bob = fleet.process("bob");
  bob.set_away(2, true);

  LockRecord other;
  REQUIRE_FALSE(bob.lock("jobs")->lock_try("y", &other));
  CHECK(other.taken());
  const auto seen = bob.store->inspect("jobs", Freshness::fresh);
  CHECK(seen.lock->taken());
  CHECK(seen.ping);
  CHECK(seen.lock->members == std::vector<Token>{states(bob)[1].member});
  CHECK(bob.store->list().locks.at(0).record->taken());
  CHECK(bob.store->release("jobs", ts) == ReleaseResult::freed);  // As distlock break.
  CHECK(bob.lock("jobs")->lock_try("y"));
}

TEST_CASE("a hold of a majority is shown where most of its members are away", "[mirrored][M8]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  const auto jobs = ann.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  REQUIRE(jobs->unlock() == UnlockResult::released);
  ann.set_away(0, true);
  ann.set_away(1, true);
  REQUIRE(jobs->lock_try("x"));
  const auto bob = fleet.process("bob");
  bob.set_away(3, true);
  bob.set_away(4, true);
  CHECK(bob.store->inspect("jobs", Freshness::fresh).lock->ts == jobs->record().ts);
  CHECK(bob.store->list().locks.at(0).record->ts == jobs->record().ts);
}

TEST_CASE("a member with a malformed document is not free for a look or a list",
          "[mirrored][M8][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto jobs = ann.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  REQUIRE(fleet.stores[0].store->release("jobs", *jobs->record().ts) == ReleaseResult::freed);
  fleet.stores[2].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::string("odd")}});
  const auto bob = fleet.process("bob");
  CHECK(bob.store->inspect("jobs", Freshness::fresh).lock->taken());
  CHECK(bob.store->list().locks.at(0).record->taken());
}

TEST_CASE("a member's clock is compared with the middle one", "[mirrored][M8]") {
  // Also where one is centuries ahead.
  const std::chrono::milliseconds ahead = GENERATE(5s, std::chrono::hours{24 * 365 * 571});
  MirrorFleet fleet(0);
  for (const auto off : {0ms, ahead, -20ms}) {
    fleet.clock->set_wall_off(off);
    fleet.stores.push_back(open_memory_store(fleet.clock, {}));
  }
  fleet.clock->set_wall_off(0ms);
  const auto seen = states(fleet.process("ann"));
  CHECK(seen[0].ahead == 0ms);
  CHECK(seen[1].ahead == ahead);
  CHECK(seen[2].ahead == -20ms);
}

TEST_CASE("a slow member's clock counts for the middle of its call", "[mirrored][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.members[1]->before("list", [&] { fleet.clock->advance(3s); });
  ann.members[1]->after("list", [&] { fleet.clock->advance(3s); });
  const auto seen = states(ann);
  CHECK(seen[1].ahead == 0ms);
  CHECK(seen[2].ahead == 0ms);
}

TEST_CASE("the log tells once that a member is of another set, or of another place",
          "[mirrored][log][M6][M7]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  Captured log;
  const auto told = [&](const std::string& text) {
    const auto lines = log.lines();
    return std::count_if(lines.begin(), lines.end(), [&](const LoggedLine& line) {
      return line.level == severity_level::warning && line.text.find(text) != std::string::npos;
    });
  };
  SECTION("of another set, as one of it or kept out of it") {
    MirrorFleet another(5);
    const auto bob = another.process("bob");
    bob.pinger->ping_round();
    if (GENERATE(false, true)) {
      another.empty(1);
      another.rounds({&bob}, 300s);
    }
    fleet.stores[1].tables = another.stores[1].tables;
    fleet.rounds({&ann}, 300s);
    CHECK(told("is a member of another mirrored store") == 1);
    CHECK(told("name the store that belongs in its place, or empty this one") == 1);
    CHECK(told("at another place") == 0);
  }
  SECTION("of another place") {
    std::swap(fleet.stores[1].tables, fleet.stores[3].tables);
    fleet.rounds({&ann}, 300s);
    CHECK(told("at another place") == 2);
    CHECK(told("name the same members in the same order everywhere") == 2);
    CHECK(told("another mirrored store") == 0);
  }
  SECTION("but not of one that is away, empty, or kept out for now") {
    fleet.empty(1);
    ann.set_away(2, true);
    fleet.rounds({&ann}, 300s);
    CHECK(told("another") == 0);
  }
}

TEST_CASE("a member is kept out for the whole window or not at all, whatever date its mark has",
          "[mirrored][M6][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  static_cast<void>(ann.store->list());
  fleet.clock->advance(ann.store->call_limit() + 1ms);
  ann.store->members()->mend();
  REQUIRE(ann.condition(1) == Condition::kept_out);
  const auto kept_out_for = [&](std::int64_t when) {
    const StoreTime date{std::chrono::milliseconds{when}};
    tamper(fleet.stores[1].tables, mirrored::kIdentityName, "when", date);
    return states(ann)[1].kept_out_for;
  };
  CHECK(kept_out_for(INT64_MIN) == 0ms);
  CHECK(kept_out_for(INT64_MAX) == 1h);
}

TEST_CASE("a fault of a member that answers is shown", "[mirrored][M3][M6][M8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const std::string identity(mirrored::kIdentityName);
  const auto third = [&] { return fleet.process("bob").store->members()->states().at(2); };
  CHECK(third().problem.empty());
  SECTION("a malformed identity") {
    fleet.stores[2].tables.put_lock({{"_id", identity}, {"state", std::string("odd")}});
    CHECK(third().condition == Condition::strange);
    CHECK_THAT(third().problem, Catch::Contains("its identity is malformed"));
  }
  SECTION("an identity that somebody has changed") {
    tamper(fleet.stores[2].tables, identity, "process", std::string("somebody"));
    CHECK(third().condition == Condition::empty);
    CHECK_THAT(third().problem, Catch::Contains("somebody has changed its document"));
  }
  SECTION("locks and no identity") {
    fleet.empty(2);
    fleet.put_taken(2);
    CHECK(third().condition == Condition::empty);
    CHECK_THAT(third().problem, Catch::Contains("locks of its own"));
  }
  SECTION("a great fence") {
    fleet.stores[2].tables.put_lock({{"_id", std::string("jobs")},
                                     {"state", std::int32_t{0}},
                                     {"who", std::string()},
                                     {"fence", mirrored::kGreatFence}});
    CHECK(third().condition == Condition::counts);
    CHECK_THAT(third().problem, Catch::Contains("\"jobs\" has a fence there"));
  }
  SECTION("a malformed lock") {
    fleet.stores[2].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::string("odd")}});
    CHECK(third().condition == Condition::counts);
    CHECK_FALSE(third().problem.empty());
  }
}
