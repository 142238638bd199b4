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
