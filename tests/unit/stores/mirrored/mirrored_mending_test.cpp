#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// A member of a mirrored store that lost its data comes back (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;
using Names = std::vector<std::string>;

void round(const MirrorProcess& process) { process.pinger->ping_round(); }

std::optional<Token> identity(const MirrorFleet& fleet, std::size_t member) {
  const auto lock =
      fleet.stores[member].store->inspect(mirrored::kIdentityName, Freshness::fresh).lock;
  return lock ? lock->ts : std::nullopt;
}

/// The member is marked, was just seen so by that process for the first time, and the others have
/// been told.
void empty_and_mark(MirrorFleet& fleet, std::size_t member, const MirrorProcess& process) {
  round(process);
  fleet.empty(member);
  while (process.condition(member) != Condition::kept_out) {
    fleet.clock->advance(30s);
    round(process);
  }
  round(process);
}

}  // namespace

TEST_CASE("an emptied member is kept out, and takes part again after the longest window",
          "[mirrored][M6]") {
  MirrorFleet fleet(GENERATE(3, 5));
  const auto ann = fleet.process("ann");
  const Token before = (round(ann), *identity(fleet, 1));
  empty_and_mark(fleet, 1, ann);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs")[1].empty());
  REQUIRE(lock->unlock() == UnlockResult::released);
  fleet.rounds({&ann}, 59min);
  CHECK(ann.condition(1) == Condition::kept_out);
  fleet.rounds({&ann}, 3min);
  CHECK(ann.condition(1) == Condition::counts);
  CHECK(identity(fleet, 1) != before);
  // Its vote is needed now.
  for (std::size_t away = 2; away < fleet.stores.size(); ++away) {
    if (away - 1 <= fleet.stores.size() / 2) ann.set_away(away, true);
  }
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs")[1] == "ann");
}

TEST_CASE("a member that lost its data is not back before the longest window has passed",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  empty_and_mark(fleet, 1, ann);
  const auto marker = identity(fleet, 1);
  fleet.clock->advance(1h - 1ms);
  for (int i = 0; i < 5; ++i) round(ann);
  CHECK(identity(fleet, 1) == marker);
  fleet.clock->advance(1ms);
  for (int i = 0; i < 2; ++i) round(ann);
  CHECK(identity(fleet, 1) != marker);
  CHECK(ann.condition(1) == Condition::counts);
}

TEST_CASE("a hold that counted on what a member lost is over when the member is back",
          "[mirrored][M5][M6][R1]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const LockOptions options{.takeover_after = 1h};
  round(ann);
  round(bob);
  ann.set_away(2, true);
  const auto lock = ann.lock("jobs", options);
  REQUIRE(lock->lock_try("x"));
  round(ann);
  ann.set_away(2, false);
  ann.members[2]->fail("claim", Fault::rejected, 1000);  // No repair gets there.
  fleet.empty(1);
  const auto next = bob.lock("jobs", options);
  bool bob_has_it = false;
  for (int i = 0; i < 140 && !bob_has_it; ++i) {
    fleet.rounds({&ann, &bob}, 30s);
    // A member that is back has no ping of bob's before his next round, and so no claim.
    const auto failure = thrown_by([&] { return bob_has_it = next->lock_try("y"); });
    CHECK((!failure || failure == Errc::not_applied));
    CHECK_FALSE((bob_has_it && lock->held()));
  }
  CHECK(bob_has_it);
  CHECK(next->fence() > lock->fence());
}

TEST_CASE("a member that is back knows the fences of a majority of the others",
          "[mirrored][M3][M6][R10]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  round(ann);
  round(bob);
  const std::size_t shared = GENERATE(0, 2);
  ann.set_away(2 - shared, true);
  const auto lock = ann.lock("jobs");
  for (int i = 0; i < 7; ++i) {
    REQUIRE(lock->lock_try("x"));
    REQUIRE(lock->unlock() == UnlockResult::released);
  }
  REQUIRE(lock->lock_try("x"));
  const Fence last = lock->fence();
  REQUIRE(lock->unlock() == UnlockResult::released);
  ann.set_away(2 - shared, false);
  empty_and_mark(fleet, 1, ann);
  fleet.rounds({&ann, &bob}, 63min);
  REQUIRE(ann.condition(1) == Condition::counts);
  bob.set_away(shared, true);
  const auto next = bob.lock("jobs");
  REQUIRE(next->lock_try("y"));
  CHECK(next->fence() > last);
}

TEST_CASE("no member is back while the fences of too few others are known", "[mirrored][M6][R14]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  empty_and_mark(fleet, 1, ann);
  fleet.stores[2].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::string("odd")}});
  SECTION("malformed documents hide them") {
    fleet.stores[3].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::string("odd")}});
  }
  SECTION("a server that did not confirm a ping lately may be a deposed one") {
    ann.members[3]->during_each_call([](const std::string& call) {
      if (call == "ping") throw Error(Errc::not_applied, "the member refuses writes");
    });
  }
  fleet.rounds({&ann}, 65min);
  CHECK(ann.condition(1) == Condition::kept_out);
  fleet.stores[2].tables.put_lock(
      {{"_id", std::string("jobs")}, {"state", std::int32_t{0}}, {"who", std::string()}});
  fleet.rounds({&ann}, 2min);
  CHECK(ann.condition(1) == Condition::counts);
}

TEST_CASE("two processes that take a member back at once make one identity", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  round(ann);
  round(bob);
  fleet.empty(1);
  const auto in_between = [&] {
    for (int i = 0; i < 3; ++i) round(bob);
  };
  fleet.rounds({&ann, &bob}, 30s);
  // One marks it in the middle of the other's claim, and later takes it back so.
  fleet.clock->advance(1min);
  ann.members[1]->before("claim", in_between);
  round(ann);
  const auto marker = identity(fleet, 1);
  REQUIRE(ann.condition(1) == Condition::kept_out);
  round(ann);
  CHECK(identity(fleet, 1) == marker);

  fleet.clock->advance(1h);
  std::optional<Token> of_bob;
  ann.members[1]->before("claim", [&] {
    in_between();
    of_bob = identity(fleet, 1);
  });
  for (int i = 0; i < 3; ++i) round(ann);
  REQUIRE(of_bob);
  CHECK(of_bob != marker);
  CHECK(identity(fleet, 1) == of_bob);
  CHECK(ann.condition(1) == Condition::counts);
  CHECK(bob.condition(1) == Condition::counts);
}

TEST_CASE("the wait begins anew if a member shows anything else while it is kept out",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  round(ann);
  MemoryTables& member = fleet.stores[1].tables;
  MemoryTables old = member;
  empty_and_mark(fleet, 1, ann);
  fleet.rounds({&ann}, 50min);
  SECTION("its old data come back for a while") {
    std::swap(member, old);
    fleet.rounds({&ann}, 30s);
    CHECK(ann.condition(1) == Condition::empty);
    std::swap(member, old);
  }
  SECTION("it is emptied again") { fleet.empty(1); }
  fleet.rounds({&ann}, 55min);
  CHECK(ann.condition(1) == Condition::kept_out);
  fleet.rounds({&ann}, 10min);
  CHECK(ann.condition(1) == Condition::counts);
}

TEST_CASE("old data that come back in the middle of the taking back stay", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  round(ann);
  const MemoryTables old = fleet.stores[1].tables;
  const auto first = identity(fleet, 1);
  empty_and_mark(fleet, 1, ann);
  fleet.clock->advance(1h);
  ann.members[1]->before("claim", [&] { fleet.stores[1].tables = old; });
  for (int i = 0; i < 3; ++i) round(ann);
  CHECK(identity(fleet, 1) == first);
  CHECK(ann.condition(1) == Condition::empty);
}

TEST_CASE("a process counts the wait for a member from its own first look", "[mirrored][M6]") {
  MirrorFleet fleet;
  {
    const auto ann = fleet.process("ann");
    empty_and_mark(fleet, 1, ann);
    fleet.rounds({&ann}, 50min);
  }
  const auto bob = fleet.process("bob");
  fleet.rounds({&bob}, 59min);
  CHECK(bob.condition(1) == Condition::kept_out);
  fleet.rounds({&bob}, 3min);
  CHECK(bob.condition(1) == Condition::counts);
}

TEST_CASE("a whole set costs a round no call more", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  round(ann);
  CHECK_FALSE(ann.store->members()->incomplete());
  ann.members[0]->forget_calls();
  ann.store->members()->mend();
  CHECK(ann.members[0]->calls() == 0);
  fleet.empty(1);
  round(ann);
  CHECK(ann.store->members()->incomplete());
}

TEST_CASE("no member is marked while a founder may be about to claim it", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  bob.members[2]->before("claim", [&] {
    for (int i = 0; i < 3; ++i) round(ann);
  });
  round(bob);
  CHECK(ann.condition(2) == Condition::counts);
}

TEST_CASE("an operator who comes as a wait ends puts no member out again", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto operators = fleet.process("operator");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.rounds({&ann}, 59min);
  REQUIRE(ann.condition(1) == MemberState::Condition::kept_out);
  // Between the operator's look and the taking back.
  operators.members[1]->before("claim", [&] {
    for (int i = 0; i < 10 && ann.condition(1) != MemberState::Condition::counts; ++i) {
      fleet.rounds({&ann}, 30s);
    }
  });
  CHECK(thrown_by([&] { return operators.store->members()->readmit(1); }));
  ann.pinger->ping_round();
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}
