// Looks of a session: stray holds, and steps of clocks.
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <set>

#include "distlock/members.h"
#include "pinger/session.h"
#include "support/captured_log.h"
#include "support/forked_child.h"
#include "support/leave.h"
#include "support/mirror_fleet.h"
#include "support/server_fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a look that finds a stray hold frees it for good, and looks again",
          "[unknown_outcome][R3][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  fleet.put_stray("a", "jobs", Token{{9}});
  Captured log;
  const auto lock = a.lock("jobs");
  CHECK(lock->lock_try("x"));
  CHECK(a.store->calls("inspect") == 2);
  CHECK(a.store->quick_releases == 0);
  CHECK(log.count(severity_level::warning, "a claim of \"jobs\" took effect after") == 1);
}

TEST_CASE("a look that cannot free a stray hold leaves it to the rounds", "[unknown_outcome][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  fleet.put_stray("a", "jobs", Token{{9}});
  a.store->fail("release", Fault::rejected);
  CHECK_FALSE(a.lock("jobs")->lock_try("x"));
  CHECK(a.store->calls("inspect") == 1);
  CHECK(a.pinger->stats().pending_releases == 1);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("jobs").taken());
}

TEST_CASE("a look at a hold that the process knows of is one call", "[unknown_outcome][R8][cost]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  a.store->forget_calls();
  CHECK_FALSE(a.lock("jobs")->lock_try("y"));
  CHECK(a.store->calls("inspect") == 1);
  CHECK(lock->still_held());
}

TEST_CASE("where there is no hold no clock is said to have stepped", "[pinger][R5]") {
  ServerFleet fleet;
  const auto handle = std::make_shared<ServerStore>(fleet.store, fleet.server);
  Session session({.store = handle, .clock = fleet.clock, .process = "a"}, {}, PingerDrive::caller);
  session.ping();
  fleet.step(1h);
  session.ping();
  CHECK_FALSE(session.clock_stepped({}, {}));
}

TEST_CASE("a step of the store's clock counts for as long as the window of the hold",
          "[pinger][R5]") {
  ServerFleet fleet;
  const auto handle = std::make_shared<ServerStore>(fleet.store, fleet.server);
  Session session({.store = handle, .clock = fleet.clock, .process = "a"}, {}, PingerDrive::caller);
  Inspection seen;
  seen.lock = LockRecord{.name = "jobs", .takeover_after = 300h};
  seen.now = StoreNow{{}, "c1"};
  const auto stepped = [&] { return session.clock_stepped(seen, {.takeover_after = 300h}); };
  const auto pass = [&](std::chrono::hours time) {
    for (auto left = time; left > 0h; left -= 1h) {
      fleet.clock->advance(1h);
      session.ping();
    }
  };
  session.ping();
  CHECK_FALSE(stepped());
  pass(2h);
  fleet.step(10h);
  pass(200h);
  CHECK(stepped());
  pass(120h);
  CHECK_FALSE(stepped());
}

// The read of a replica set may show what a majority of its members had some seconds ago.
TEST_CASE("a look at those who wait shows no hold or place that its process has no more",
          "[pinger][deadlock][R22]") {
  Fleet fleet;
  Session session({.store = fleet.store, .clock = fleet.clock, .process = "a"}, {},
                  PingerDrive::caller);
  const auto claim = [&](std::uint8_t number) { return fleet.claim_by("a", Token{{number}}); };
  for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}}) {
    const std::string name = "jobs" + std::to_string(number);
    REQUIRE(fleet.store->claim(name, FromAbsent{}, claim(number)));
    REQUIRE(
        fleet.store->line()->stand(name, claim(static_cast<std::uint8_t>(number + 10))).in_line);
  }
  // Those of two threads, each of which holds and waits.
  const auto hold = std::make_shared<Hold>("jobs1", 1min);
  const auto place = std::make_shared<Hold>("jobs1", 1min);
  session.holds.enlist(hold, Token{{1}});
  session.holds.enlist(place, Token{{11}});
  const auto seen = session.overviews.get(fleet.clock->steady_now(), *fleet.clock);
  REQUIRE(seen->locks.size() == 2);
  CHECK(seen->locks[0].taken());
  CHECK(seen->locks[0].line.size() == 1);
  CHECK_FALSE(seen->locks[1].taken());
  CHECK(seen->locks[1].line.empty());

  session.pending.add("jobs1", Token{{1}});
  session.holds.delist(place);
  const auto later = session.overviews.get(fleet.clock->steady_now() + 1ns, *fleet.clock);
  CHECK_FALSE(later->locks[0].taken());
  CHECK(later->locks[0].line.empty());
}

TEST_CASE("a step of one member's clock is no step of the others'", "[mirrored][M2][R5]") {
  MirrorFleet fleet;
  fleet.clocks_can_step = true;
  const auto ann = fleet.process("ann");
  const auto held = ann.lock("jobs");
  REQUIRE(held->lock_try("x"));
  const auto bob = fleet.process("bob");
  Session session({.store = bob.store, .clock = fleet.clock, .process = "bob"}, {},
                  PingerDrive::caller);
  const auto look = [&] { return session.look("jobs", Freshness::fresh).seen; };
  const auto stepped = [&] {
    std::vector<bool> members;
    for (const Inspection& one : look().members) members.push_back(session.clock_stepped(one, {}));
    return members;
  };
  SECTION("seen by pings") {
    session.ping();
    fleet.clock->advance(30s);
    fleet.clocks[1]->step(1h);
    session.ping();
  }
  SECTION("seen by looks") {
    CHECK(stepped() == std::vector<bool>{false, false, false});
    fleet.clock->advance(30s);
    fleet.clocks[1]->step(1h);
  }
  CHECK(stepped() == std::vector<bool>{false, true, false});
}
