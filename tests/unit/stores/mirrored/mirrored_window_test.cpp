#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "stores/mirrored/identity.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// The longest window of a set, where somebody has changed the identity of a member (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

void change_longest_window(Store& member, std::chrono::milliseconds window) {
  const LockRecord identity = *member.inspect(mirrored::kIdentityName, Freshness::fresh).lock;
  const StoreNow now = member.list().now;
  const Claim changed{.process = identity.process,
                      .who = identity.who,
                      .why = identity.why,
                      .ts = *identity.ts,
                      .takeover_after = window,
                      .cutoff = {now.time + 1h, now.clock},
                      .fence = identity.fence};
  REQUIRE(member.claim(mirrored::kIdentityName, FromHold{*identity.ts, identity.when.value()},
                       changed));
}

}  // namespace

TEST_CASE("one member cannot change the longest window of a set", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  change_longest_window(*fleet.stores[GENERATE(0, 2)].store, GENERATE(1ms, 24h));
  const auto lock = ann.lock("jobs", {.takeover_after = 1h + 1ms});
  CHECK(thrown_by([&] { static_cast<void>(lock->lock_try("x")); }) == Errc::invalid_argument);
  CHECK(ann.lock("jobs", {.takeover_after = 1h})->lock_try("x"));
}

// This process has never heard of the member that is away.
TEST_CASE("a window that one member denies is refused for good only where a majority denies it",
          "[mirrored][M6][M2]") {
  MirrorFleet fleet;
  fleet.process("founder").pinger->ping_round();
  const bool denied_by_two = GENERATE(false, true);
  change_longest_window(*fleet.stores[0].store, 1ms);
  if (denied_by_two) change_longest_window(*fleet.stores[2].store, 1ms);
  const auto ann = fleet.process("ann");
  ann.set_away(1, true);
  const auto lock = ann.lock("jobs");
  const auto claim = [&] { return lock->lock_try("x"); };
  CHECK(thrown_by(claim) == (denied_by_two ? Errc::invalid_argument : Errc::not_applied));
  CHECK_THROWS_WITH(claim(), Catch::Contains("window of 960000 ms is too long for") &&
                                 Catch::Contains("allows 1 ms"));
  ann.set_away(1, false);
  if (denied_by_two) {
    CHECK(thrown_by(claim) == Errc::invalid_argument);
  } else {
    CHECK(claim());
  }
}

TEST_CASE("a member that lost its data is kept out for the longest of the set's windows",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  change_longest_window(*fleet.stores[GENERATE(0, 2)].store, 1ms);
  fleet.empty(1);
  fleet.rounds({&ann}, 5min);
  CHECK(ann.condition(1) == MemberState::Condition::kept_out);
  fleet.rounds({&ann}, 1h);
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}

// Its founder died before it had a majority.
TEST_CASE("a set that another process completes keeps the longest window of its founder",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto bob = fleet.process("bob");
  for (const std::size_t i : {1, 2}) bob.members[i]->fail("claim", Fault::lost_request, 2);
  const auto founder =
      make_mirrored_store({bob.members[0], bob.members[1], bob.members[2]}, fleet.clock,
                          {.drive = MirrorDrive::caller, .random = {}, .longest_takeover = 2h});
  REQUIRE(thrown_by([&] { return founder->list(); }) == Errc::not_applied);
  fleet.outlast_founders();
  const auto ann = fleet.process("ann");  // Founds sets with a longest window of an hour.
  CHECK(ann.lock("jobs", {.takeover_after = 2h})->lock_try("x"));
}

TEST_CASE("a contender that watches a holder remembers each member by itself",
          "[mirrored][M4][R6]") {
  MirrorFleet fleet;
  fleet.clocks[1]->step(1s);
  fleet.clocks[2]->step(2s);
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  const auto next = bob.lock("jobs", {.takeover_rule = TakeoverRule::watched});
  CHECK_FALSE(next->lock_try("y"));
  fleet.clock->advance(16min);
  REQUIRE(next->lock_try("y"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"bob", "bob", "bob"});
}

TEST_CASE("a member that lost its data stays out, however long a window somebody has written",
          "[mirrored][M6][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  change_longest_window(*fleet.stores[2].store, std::chrono::milliseconds::max());
  fleet.empty(1);
  fleet.rounds({&ann}, 2h);
  CHECK(ann.condition(1) == MemberState::Condition::kept_out);
}
