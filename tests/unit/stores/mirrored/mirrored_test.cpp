#include <catch2/catch.hpp>

#include "protocol/protocol.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

const LockOptions kOptions;

}  // namespace

TEST_CASE("a lock of a mirrored store is taken on all members, with one fence",
          "[mirrored][M1][M3]") {
  MirrorFleet fleet(GENERATE(1, 3, 5));
  const auto lock = fleet.process("ann").lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == Names(fleet.stores.size(), "ann"));
  CHECK(fleet.fence(0, "jobs") == 1);
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(fleet.holders("jobs") == Names(fleet.stores.size(), ""));
  REQUIRE(lock->lock_try("again"));
  for (std::size_t i = 0; i < fleet.stores.size(); ++i) CHECK(fleet.fence(i, "jobs") == 2);
}

TEST_CASE("a lock that another holds on a majority is busy", "[mirrored][M1]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  LockRecord other;
  CHECK_FALSE(bob.lock("jobs")->lock_try("y", &other));
  CHECK(other.process == "ann");
  CHECK(other.members.size() == 3);
  CHECK(bob.members[0]->calls("ping") == 0);
}

TEST_CASE("with any one of three members away everything works", "[mirrored][M2]") {
  MirrorFleet fleet;
  const std::size_t away = GENERATE(0, 1, 2);
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  ann.set_away(away, true);
  bob.set_away(away, true);

  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->still_held());
  CHECK_FALSE(bob.lock("jobs")->lock_try("y"));
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    ann.pinger->ping_round();
  }
  CHECK(lock->held());
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(bob.lock("jobs")->lock_try("y"));
}

TEST_CASE("a hold on three members keeps its deadline while one is away", "[mirrored][M5][R9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(1, true);
  fleet.clock->advance(10min);
  ann.pinger->ping_round();
  const auto expected = protocol::validity(kOptions, ann.store->call_limit());
  CHECK(lock->remaining() == expected);
}

TEST_CASE("with a majority of the members away there is no claim, and what was got is freed",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  ann.set_away(0, true);
  ann.set_away(1, true);
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::not_applied);
  CHECK(fleet.holders("jobs") == Names{"", "", ""});
  ann.set_away(0, false);
  CHECK(lock->lock_try("x"));
}

TEST_CASE("a claim that too few members granted is freed by its own call", "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[1]->fail("claim", Fault::rejected);
  ann.members[2]->fail("claim", Fault::rejected);
  CHECK(thrown_by([&] { return ann.lock("jobs")->lock_try("x"); }) == Errc::not_applied);
  CHECK(ann.members[0]->calls("release") == 1);
  CHECK(fleet.holders("jobs") == Names{"", "", ""});
}

TEST_CASE("a hold whose pings reach a minority ends before a rival can get a majority",
          "[mirrored][M5][R1][R9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  // From now on one member alone confirms its pings.
  ann.set_away(1, true);
  ann.set_away(2, true);
  const auto rival = bob.lock("jobs");
  bool rival_has_it = false;
  for (int i = 0; i < 40 && !rival_has_it; ++i) {
    fleet.clock->advance(30s);
    ann.pinger->ping_round();
    bob.pinger->ping_round();
    rival_has_it = rival->lock_try("y");
    const bool both = rival_has_it && lock->held();
    CHECK_FALSE(both);
  }
  CHECK(rival_has_it);
  CHECK(fleet.holders("jobs") == Names{"ann", "bob", "bob"});
}

TEST_CASE("a holder that dies is taken over on each member, with a greater fence",
          "[mirrored][M3][M4][R6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  const auto next = bob.lock("jobs");
  fleet.clock->advance(16min - 1ms);
  CHECK_FALSE(next->lock_try("y"));
  fleet.clock->advance(1ms);
  REQUIRE(next->lock_try("y"));
  CHECK(fleet.holders("jobs") == Names{"bob", "bob", "bob"});
  CHECK(next->fence() > 1);
  CHECK(lock->unlock() == UnlockResult::not_ours);
}

TEST_CASE("a member that misses a living holder's pings is not taken over alone",
          "[mirrored][M4]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(2, true);
  for (int i = 0; i < 40; ++i) {
    fleet.clock->advance(30s);
    ann.pinger->ping_round();
    bob.pinger->ping_round();
    CHECK_FALSE(bob.lock("jobs")->lock_try("y"));
  }
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
}

TEST_CASE("two contenders never get one fence, whatever members they reach",
          "[mirrored][M3][R10]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  Fence last = 0;
  for (std::size_t round = 0; round < 9; ++round) {
    const auto& process = round % 2 == 0 ? ann : bob;
    const std::size_t away = round * 7 % 3;
    process.set_away(away, true);
    const auto lock = process.lock("jobs");
    REQUIRE(lock->lock_try("x"));
    CHECK(lock->fence() > last);
    last = lock->fence();
    CHECK(lock->unlock() == UnlockResult::released);
    process.set_away(away, false);
  }
}

TEST_CASE("a member that was emptied does not count", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  ann.pinger->ping_round();
  bob.pinger->ping_round();
  ann.set_away(2, true);
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", ""});

  // The emptied member and the one that was away would make a majority for somebody else.
  fleet.empty(1);
  CHECK_FALSE(bob.lock("jobs")->lock_try("y"));
  const auto carol = fleet.process("carol");
  CHECK_FALSE(carol.lock("jobs")->lock_try("z"));
  CHECK(lock->held());
  CHECK(fleet.holders("jobs")[1].empty());
}

TEST_CASE("a member that is emptied just before it grants a claim does not count",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(0, true);
  ann.members[1]->before("claim", [&] { fleet.empty(1); });
  CHECK(thrown_by([&] { return ann.lock("jobs")->lock_try("x"); }) == Errc::outcome_unknown);
  ann.set_away(0, false);
  ann.pinger->ping_round();
  CHECK(fleet.holders("jobs") == Names{"", "", ""});
}

TEST_CASE("a hold that counted on an emptied member ends in time", "[mirrored][M5][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  REQUIRE(lock->lock_try("x"));
  const SteadyTime until = lock->valid_until();
  ann.set_away(2, false);
  ann.members[2]->fail("claim", Fault::rejected, 100);
  fleet.empty(1);
  fleet.clock->advance(5min);
  ann.pinger->ping_round();
  CHECK(lock->valid_until() == until);
}

TEST_CASE("a claim whose answers got lost is settled by a majority", "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  SECTION("it was granted") {
    for (const auto& member : ann.members) member->fail("claim", Fault::lost_reply);
    CHECK(lock->lock_try("x"));
    CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  }
  SECTION("it was granted by one member alone") {
    ann.members[0]->fail("claim", Fault::lost_reply);
    ann.members[1]->fail("claim", Fault::lost_request);
    ann.members[2]->fail("claim", Fault::lost_request);
    CHECK(lock->lock_try("x"));
    CHECK(lock->fence() > 1);
  }
}

TEST_CASE("a release that one member did not hear is made good by the next round",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(1, true);
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(fleet.holders("jobs") == Names{"", "ann", ""});
  ann.set_away(1, false);
  for (int i = 0; i < 3; ++i) {
    fleet.clock->advance(30s);
    ann.pinger->ping_round();
  }
  CHECK(fleet.holders("jobs") == Names{"", "", ""});
}

TEST_CASE("a hold that an operator broke on a majority is lost within a round",
          "[mirrored][M8][R9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  const Token ts = *fleet.stores[0].store->inspect("jobs", Freshness::fresh).lock->ts;
  fleet.stores[0].store->release("jobs", ts);
  ann.pinger->ping_round();
  CHECK(lock->held());
  fleet.stores[2].store->release("jobs", ts);
  ann.pinger->ping_round();
  CHECK_FALSE(lock->held());
  CHECK(lock->lost());
}

TEST_CASE("a stop leaves the ping on a member that still carries a hold", "[mirrored][M2][R7]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(1, true);
  REQUIRE(lock->unlock() == UnlockResult::released);
  ann.set_away(1, false);
  ann.pinger->stop();
  CHECK_FALSE(fleet.stores[0].tables.raw_ping("ann"));
  CHECK(fleet.stores[1].tables.raw_ping("ann"));
}
