// Claims, and members of before (M6).
#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Bob has the lock with the next fence, on the first member and on the one that came back.
TEST_CASE("a claim hears of a return that its process has not heard of", "[mirrored][M6][M3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  const auto anns = ann.lock("jobs");
  REQUIRE(anns->lock_try("x"));
  REQUIRE(anns->unlock() == UnlockResult::released);
  const MemoryTables old = fleet.stores[1].tables;
  fleet.empty(1);
  bob.pinger->ping_round();
  REQUIRE(bob.store->members()->readmit(1));
  bob.pinger->ping_round();
  bob.set_away(2, true);
  const auto bobs = bob.lock("jobs");
  REQUIRE(bobs->lock_try("y"));
  // Its server is stopped for so long, first.
  fleet.clock->advance(ann.store->call_limit());
  fleet.stores[1].tables = old;
  LockRecord other;
  CHECK_FALSE(anns->lock_try("x", &other));
  CHECK(other.process == "bob");
  CHECK(bobs->held());
}

TEST_CASE("a claim from the process's own release is read back where its answers are late",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  const int looks = ann.members[1]->calls("inspect");
  const bool late = GENERATE(false, true);
  ann.members[1]->after(
      "claim", [&] { fleet.clock->advance(ann.store->call_limit() + (late ? 1ms : 0ms)); });
  CHECK(lock->lock_try("x"));
  CHECK((ann.members[1]->calls("inspect") > looks) == late);
}
