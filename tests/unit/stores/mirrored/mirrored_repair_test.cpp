#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <latch>
#include <string>
#include <utility>

#include "unit/stores/mirrored/held_on_two.h"

// A hold gets to the members that lacked it (M9).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

Token token_on(const MirrorFleet& fleet, std::size_t member) {
  return fleet.stores[member].store->inspect("jobs", Freshness::fresh).lock->ts.value();
}

MirrorProcess pinging(MirrorFleet& fleet, const std::string& name) {
  MirrorProcess process = fleet.process(name);
  process.pinger->ping_round();
  return process;
}

/// The looks at the first member, and the claims there, of three rounds.
std::pair<int, int> asked_in_rounds(MirrorFleet& fleet, const MirrorProcess& process) {
  const FaultyStore& member = *process.members[0];
  const int looks = member.calls("inspect");
  const int claims = member.calls("claim");
  fleet.rounds({&process}, 90s);
  return {member.calls("inspect") - looks, member.calls("claim") - claims};
}

}  // namespace

TEST_CASE("a hold is written to a member that was away when it was claimed", "[mirrored][M9]") {
  const std::size_t away = GENERATE(0, 1, 2);
  HeldOnTwo held(away);
  held.fleet.rounds({&held.ann}, 30s);
  CHECK(held.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(held.fleet.fence(i, "jobs") == held.lock->fence());
    CHECK(token_on(held.fleet, i) == token_on(held.fleet, 0));
  }
  CHECK(held.lock->unlock() == UnlockResult::released);
  CHECK(held.fleet.holders("jobs") == Names{"", "", ""});
}

TEST_CASE("a hold outlives one member after the other, each away for longer than its window",
          "[mirrored][M9][M5]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  const Fence fence = lock->fence();
  for (std::size_t away = 0; away < 6; ++away) {
    ann.set_away(away % 3, true);
    fleet.rounds({&ann, &bob}, 1200s);
    CHECK(lock->held());
    ann.set_away(away % 3, false);
    fleet.rounds({&ann, &bob}, 60s);
    CHECK_FALSE(bob.lock("jobs")->lock_try("y"));
  }
  CHECK(lock->held());
  CHECK(lock->fence() == fence);
  CHECK(lock->unlock() == UnlockResult::released);
}

TEST_CASE("a rival that has decided to take a member finds it granted anew", "[mirrored][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bob.pinger->ping_round();
  ann.set_away(2, true);
  fleet.rounds({&ann, &bob}, 1200s);
  // The member's hold is dead to a rival now, which claims it from there much later.
  const LockRecord dead = *fleet.stores[2].store->inspect("jobs", Freshness::fresh).lock;
  ann.set_away(2, false);
  fleet.rounds({&ann, &bob}, 60s);
  const auto& member = *fleet.stores[2].store;
  const StoreNow now = *fleet.stores[2].store->inspect("jobs", Freshness::fresh).now;
  Claim late{.process = "bob",
             .who = "bob:1",
             .why = "y",
             .ts = Token{{7}},
             .takeover_after = 16min,
             .cutoff = now,
             .fence = dead.fence + 1};
  CHECK_FALSE(const_cast<Store&>(member).claim("jobs", FromHold{*dead.ts, dead.when}, late));
  CHECK(fleet.holders("jobs")[2] == "ann");
}

TEST_CASE("a hold is written over no other, and over no greater fence", "[mirrored][M9][M3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  const auto lock = ann.lock("jobs");
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(lock->unlock());
    REQUIRE(lock->lock_try("x"));
  }
  REQUIRE(lock->fence() == 4);
  Store& member = *fleet.stores[2].store;
  Claim other{.process = "bob",
              .who = "bob:1",
              .why = "y",
              .ts = Token{{7}},
              .takeover_after = 16min,
              .cutoff = member.list().now};
  const auto after_rounds = [&] {
    REQUIRE(member.claim("jobs", FromAbsent{}, other));
    ann.set_away(2, false);
    fleet.rounds({&ann}, 60s);
    return fleet.holders("jobs");
  };
  SECTION("while another is there, with the fence that it has itself") {
    other.fence = 4;
    CHECK(after_rounds() == Names{"ann", "ann", "bob"});
  }
  SECTION("while another is there, with a greater fence") {
    other.fence = 9;
    CHECK(after_rounds() == Names{"ann", "ann", "bob"});
  }
  SECTION("though it is free, but has had a greater fence") {
    other.fence = 9;
    after_rounds();
    REQUIRE(member.release("jobs", other.ts) == ReleaseResult::freed);
    fleet.rounds({&ann}, 60s);
    CHECK(fleet.holders("jobs") == Names{"ann", "ann", ""});
  }
  SECTION("but over one that no majority can carry any more") {
    other.fence = 2;
    CHECK(after_rounds() == Names{"ann", "ann", "ann"});
  }
  SECTION("but where it is free again after no greater fence") {
    other.fence = 4;
    after_rounds();
    REQUIRE(member.release("jobs", other.ts) == ReleaseResult::freed);
    fleet.rounds({&ann}, 60s);
    CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  }
  CHECK(lock->held());
}

TEST_CASE("a hold that has ended is written to no member", "[mirrored][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  ann.set_away(2, false);
  fleet.rounds({&ann}, 60s);
  CHECK(fleet.holders("jobs") == Names{"", "", ""});
}

TEST_CASE("while all members protect all holds a round asks nothing more", "[mirrored][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  fleet.rounds({&ann}, 60s);
  CHECK(asked_in_rounds(fleet, ann) == asked_in_rounds(fleet, pinging(fleet, "bob")));
}

TEST_CASE("a member that can grant a hold no more is asked for it once", "[mirrored][M9]") {
  HeldOnTwo held;
  Store& member = *held.fleet.stores[2].store;
  Claim other{.process = "bob", .who = "bob:1", .why = "y", .ts = Token{{7}}};
  other.takeover_after = 16min;
  other.cutoff = member.list().now;
  other.fence = 9;
  REQUIRE(member.claim("jobs", FromAbsent{}, other));
  REQUIRE(member.release("jobs", other.ts) == ReleaseResult::freed);
  held.fleet.rounds({&held.ann}, 60s);
  const auto asked = asked_in_rounds(held.fleet, held.ann);
  CHECK(asked == asked_in_rounds(held.fleet, pinging(held.fleet, "bob")));
  CHECK(held.lock->held());
}

TEST_CASE("a member that does not count is asked for no repair", "[mirrored][M9][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  fleet.empty(2);
  fleet.rounds({&ann}, 60s);
  REQUIRE(ann.condition(2) != MemberState::Condition::counts);
  const int looks = asked_in_rounds(fleet, ann).first;
  CHECK(looks == asked_in_rounds(fleet, pinging(fleet, "bob")).first);
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", ""});
}

TEST_CASE("a member that can grant a hold no more keeps no other from it", "[mirrored][M9]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  const std::size_t hopeless = GENERATE(3, 4);
  const std::size_t other = 7 - hopeless;
  const Document free{{"_id", std::string("jobs")}, {"state", std::int32_t{0}}};
  fleet.stores[other].tables.put_lock(free);
  Document later = free;
  later.emplace_back("fence", std::int64_t{9});
  fleet.stores[hopeless].tables.put_lock(later);
  ann.members[other]->fail("claim", Fault::rejected);
  fleet.rounds({&ann}, 120s);
  CHECK(fleet.holders("jobs")[other] == "ann");
  CHECK(fleet.holders("jobs")[hopeless].empty());
}

TEST_CASE("a lock claimed again from its own release gets to members that lacked it",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  ann.set_away(2, false);
  REQUIRE(lock->lock_try("again"));
  CHECK(fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  CHECK(fleet.fence(2, "jobs") == lock->fence());
}

TEST_CASE("a hold is repaired also where a round has time for one call alone",
          "[mirrored][M9][R12]") {
  HeldOnTwo held;
  const MirrorProcess& ann = held.ann;
  for (const auto& member : ann.members) {
    member->during_each_call([&](const std::string& call) {
      if (call == "holds" || call == "inspect") held.fleet.clock->advance(8s);
    });
  }
  held.fleet.rounds({&ann}, 300s);
  CHECK(held.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  for (const auto& member : ann.members) member->during_each_call({});
}

// The member says that it has no such hold, and then is granted it. A second attempt frees it.
TEST_CASE("a release counts no member where a repair is granted behind it",
          "[mirrored][M2][M9][R11][threads]") {
  HeldOnTwo held(0);
  const MirrorProcess& ann = held.ann;
  std::latch repairing(1);
  std::latch asked(1);
  ann.members[0]->before("claim", [&] {
    repairing.count_down();
    asked.wait();
  });
  held.fleet.clock->advance(30s);
  boost::thread round([&] { ann.pinger->ping_round(); });
  repairing.wait();
  ann.members[1]->before("release", [&] {
    asked.count_down();
    round.join();
  });
  ann.members[2]->fail("release", Fault::lost_request, 3);
  CHECK(held.lock->unlock() == UnlockResult::released);
  CHECK(held.fleet.holders("jobs") == Names{"", "", "ann"});
}
