#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "pinger/member_repairs.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/held_on_two.h"

// Repairs of unknown outcome, and those of holds that end meanwhile (M9, R8).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

Repair repair_of_third(const Inspection& seen) {
  const LockRecord& hold = *seen.lock;
  return repair_of(hold.process, seen.members, *hold.ts, {seen.members[2].member},
                   {.fence = hold.fence, .window = *hold.takeover_after});
}

}  // namespace

TEST_CASE("an unlock in the middle of a repair leaves nothing behind", "[mirrored][M9][R8]") {
  HeldOnTwo held;
  std::optional<UnlockResult> unlocked;
  held.ann.members[2]->before("claim", [&] { unlocked = held.lock->unlock(); });
  held.fleet.rounds({&held.ann}, 30s);
  REQUIRE(unlocked);
  CHECK(unlocked == UnlockResult::released);
  // The claim came behind the release, and is known as what it is before any list shows it.
  CHECK(held.ann.pinger->stats().pending_releases == 0);
  CHECK(held.fleet.holders("jobs") == Names{"", "", ""});
  CHECK(held.lock->lock_try("again"));
}

TEST_CASE("a hold that is lost in the middle of a repair is its owner's to free",
          "[mirrored][M9]") {
  HeldOnTwo held;
  held.ann.members[2]->after("claim", [&] {
    for (const std::size_t member : {0U, 1U}) {
      held.fleet.stores[member].tables.put_lock(
          {{"_id", std::string("jobs")}, {"state", std::int32_t{0}}});
    }
    CHECK_FALSE(held.lock->still_held());
  });
  held.fleet.rounds({&held.ann}, 30s);
  REQUIRE(held.lock->lost());
  CHECK(held.fleet.holders("jobs") == Names{"", "", "ann"});
  CHECK(held.ann.pinger->stats().pending_releases == 0);
}

TEST_CASE("a repair that was not confirmed protects nothing", "[mirrored][M9][R8]") {
  HeldOnTwo held;
  const auto bob = held.fleet.process("bob");
  held.ann.members[2]->fail("claim", Fault::lost_request, 100);
  held.fleet.rounds({&held.ann, &bob}, 60s);
  REQUIRE(held.fleet.holders("jobs") == Names{"ann", "ann", ""});
  held.ann.set_away(0, true);
  const SteadyTime until = held.lock->valid_until();
  bool both = false;
  bool rival_has_it = false;
  for (int i = 0; i < 60 && !rival_has_it; ++i) {
    held.fleet.rounds({&held.ann, &bob}, 30s);
    // Before the next round sees that the member does not carry the hold.
    REQUIRE(held.lock->valid_until() <= until);
    rival_has_it = bob.lock("jobs")->lock_try("y");
    both = both || (rival_has_it && held.lock->held());
  }
  CHECK_FALSE(held.lock->held());
  CHECK_FALSE(both);
}

TEST_CASE("a repair whose answer was lost is made again, from what is there",
          "[mirrored][M9][R8]") {
  HeldOnTwo held;
  held.ann.members[2]->fail("claim", Fault::lost_reply);
  held.fleet.rounds({&held.ann}, 30s);
  CHECK(held.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  held.fleet.rounds({&held.ann}, 60s);
  // Only if the third member counts does the hold outlive one of the first two.
  held.ann.set_away(0, true);
  held.fleet.rounds({&held.ann}, 1200s);
  CHECK(held.lock->held());
}

TEST_CASE("an unlock says pending while a repair could make the hold a majority's again",
          "[mirrored][M9][M2][R11]") {
  HeldOnTwo held;
  // The second member does not hear of the release, and the third one before the repair.
  std::optional<UnlockResult> unlocked;
  held.ann.members[1]->fail("release", Fault::lost_request, 3);
  held.ann.members[2]->before("claim", [&] { unlocked = held.lock->unlock(); });
  held.fleet.clock->advance(30s);
  held.ann.pinger->ping_round();
  REQUIRE(unlocked);
  CHECK(unlocked == UnlockResult::pending);
}

TEST_CASE("a repair that has its answer keeps no ping behind", "[mirrored][M9][M2]") {
  HeldOnTwo held;
  const auto pings = [&](std::size_t member) {
    return held.fleet.stores[member].store->list().pings.size();
  };
  std::size_t left = 0;
  SECTION("granted") {}
  SECTION("refused") {
    held.ann.members[2]->before("claim", [&] {
      Store& third = *held.fleet.stores[2].store;
      const StoreNow now = third.list().now;
      const Claim rival{.process = "bob",
                        .who = "bob:1",
                        .why = "quicker",
                        .ts = Token{{9}},
                        .takeover_after = 16min,
                        .cutoff = {now.time + 1h, now.clock}};
      REQUIRE(third.claim("jobs", FromAbsent{}, rival));
    });
  }
  SECTION("with an answer that got lost") {
    held.ann.members[2]->fail("claim", Fault::lost_request);
    left = 1;
  }
  held.fleet.rounds({&held.ann}, 30s);
  REQUIRE(held.lock->unlock() == UnlockResult::released);
  held.ann.pinger->stop();
  CHECK(pings(0) == 0);
  CHECK(pings(1) == 0);
  CHECK(pings(2) == left);
}

TEST_CASE("a repair is not sent once its hold is given up", "[mirrored][M9]") {
  HeldOnTwo held;
  const Inspection seen = held.ann.store->inspect("jobs", Freshness::fresh);
  const auto repair = repair_of_third(seen);
  REQUIRE(repair.bases.size() == 1);
  const auto given_up = [] { return false; };
  CHECK(held.ann.store->members()->repair("jobs", repair.bases, repair.claim, given_up).empty());
  CHECK(held.fleet.holders("jobs") == Names{"ann", "ann", ""});
}

TEST_CASE("a release behind the last look at a hold reckons with its repair",
          "[mirrored][M9][M2]") {
  HeldOnTwo held;
  Store& store = *held.ann.store;
  const Inspection seen = store.inspect("jobs", Freshness::fresh);
  const Token ts = *seen.lock->ts;
  const auto repair = repair_of_third(seen);
  REQUIRE(repair.bases.size() == 1);
  held.ann.members[0]->fail("release", Fault::lost_request);
  std::optional<Errc> failure;
  const auto still_held = [&] {
    failure = thrown_by([&] { return store.release("jobs", ts); });
    return true;
  };
  static_cast<void>(store.members()->repair("jobs", repair.bases, repair.claim, still_held));
  // A majority carries the hold, so that it must not be said to be free.
  CHECK(held.fleet.holders("jobs") == Names{"ann", "", "ann"});
  CHECK(failure == Errc::outcome_unknown);
}

TEST_CASE("a release reckons with a repair that begins in the middle of it, and is not answered",
          "[mirrored][M9][M2][R8]") {
  HeldOnTwo held;
  Store& store = *held.ann.store;
  const Inspection seen = store.inspect("jobs", Freshness::fresh);
  const Token ts = *seen.lock->ts;
  const auto repair = repair_of_third(seen);
  REQUIRE(repair.bases.size() == 1);
  held.ann.members[0]->fail("release", Fault::lost_request);
  held.ann.members[2]->fail("claim", Fault::delayed);
  held.ann.members[0]->before("release", [&] {
    const auto still_held = [] { return true; };
    CHECK(store.members()->repair("jobs", repair.bases, repair.claim, still_held).empty());
  });
  const auto failure = thrown_by([&] { return store.release("jobs", ts); });
  held.ann.members[2]->deliver();
  // A majority carries the hold, so that it must not be said to be free.
  CHECK(held.fleet.holders("jobs") == Names{"ann", "", "ann"});
  CHECK(failure == Errc::outcome_unknown);
}
