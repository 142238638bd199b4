#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Pings on the members of a mirrored store, when they are removed.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a ping that was removed is remembered no more", "[mirrored][M5][R13]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  REQUIRE(ann.store->members()->pings("ann").size() == 3);
  ann.store->remove_ping("ann");
  CHECK(ann.store->members()->pings("ann").empty());
}

TEST_CASE("a ping whose removal got no answer is remembered no more", "[mirrored][M5][R8][R13]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[1]->fail("remove_ping", Fault::lost_reply);
  ann.store->remove_ping("ann");
  REQUIRE_FALSE(fleet.stores[1].tables.raw_ping("ann"));
  CHECK(ann.store->members()->pings("ann").empty());
}

TEST_CASE("of members that forget pings the greatest number is told", "[mirrored][M8][R13]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.stores[1].store->ping("bob");
  fleet.stores[2].store->ping("bob");
  fleet.stores[2].store->ping("eve");
  fleet.clock->advance(48h);
  ann.pinger->ping_round();
  CHECK(ann.store->forget_pings(24h) == 2);
}

TEST_CASE("a ping that too few members confirm counts for these", "[mirrored][M5][R9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(2, true);
  // Each of the others misses every other ping.
  for (int i = 0; i < 60; ++i) {
    ann.members[i % 2 == 0 ? 0 : 1]->fail("ping", Fault::rejected);
    fleet.rounds({&ann}, 30s);
  }
  CHECK(lock->held());
  CHECK(lock->remaining() > 13min);
}

// The first member does it, the second refuses, and the third is away.
TEST_CASE("a write that one member did is of unknown outcome, though others refused it",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  fleet.stores[0].store->ping("bob");
  fleet.clock->advance(48h);
  ann.pinger->ping_round();
  const auto refuse = [&](std::size_t member) {
    ann.members[member]->during_each_call([](const std::string& call) {
      if (call != "inspect") throw Error(Errc::permission_denied, "not allowed: " + call);
    });
  };
  refuse(1);
  ann.set_away(2, true);
  const auto release = [&] { ann.store->release("jobs", *lock->record().ts); };
  CHECK(thrown_by([&] { ann.store->forget_pings(24h); }) == Errc::outcome_unknown);
  CHECK_FALSE(fleet.stores[0].tables.raw_ping("bob"));
  CHECK(thrown_by([&] { ann.store->ping("ann", {}); }) == Errc::outcome_unknown);
  CHECK(thrown_by(release) == Errc::outcome_unknown);
  CHECK(thrown_by([&] { ann.store->remove_ping("ann"); }) == Errc::outcome_unknown);
  refuse(0);
  CHECK(thrown_by(release) == Errc::permission_denied);
  CHECK(thrown_by([&] { ann.store->forget_pings(24h); }) == Errc::permission_denied);
}

TEST_CASE("a claim of members that have just come back goes out on a ping of theirs",
          "[mirrored][M5][R7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  static_cast<void>(ann.store->list());
  SECTION("that had none") {
    ann.set_away(0, true);
    ann.pinger->ping_round();
  }
  SECTION("that had an old one") {
    ann.pinger->ping_round();
    ann.members[0]->during_each_call([](const std::string& call) {
      if (call == "ping") throw Error(Errc::not_applied, "it takes no pings");
    });
    fleet.rounds({&ann}, 14min);
  }
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  fleet.clock->advance(11s);  // After a call limit a claim looks at the members first.
  ann.set_away(0, false);
  ann.set_away(2, true);
  REQUIRE(lock->lock_try("y"));
  CHECK(lock->remaining() > 14min);
  fleet.rounds({&ann}, 5min);
  CHECK(lock->held());
}

TEST_CASE("no ping goes before a claim where a majority of its members was pinged lately",
          "[mirrored][M5][R7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  static_cast<void>(ann.store->list());
  ann.set_away(0, true);
  ann.pinger->ping_round();
  const int pings = ann.members[1]->calls("ping");
  REQUIRE(ann.lock("jobs")->lock_try("x"));
  CHECK(ann.members[1]->calls("ping") == pings);
}
