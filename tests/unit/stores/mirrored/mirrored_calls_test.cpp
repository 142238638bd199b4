#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "unit/stores/mirrored/held_on_two.h"
#include "unit/stores/mirrored/three_members.h"

// How often a mirrored store asks each of its members (M2).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Calls = std::map<std::string, int>;

Calls calls_of(const FaultyStore& member) {
  Calls calls;
  for (const char* kind : {"inspect", "claim", "release", "ping", "list", "holds", "carried"}) {
    if (const int number = member.calls(kind); number > 0) calls[kind] = number;
  }
  return calls;
}

/// The calls of each member while `work` went on. They are the same for all of them.
template <class Work>
Calls asked_of_each(const MirrorProcess& process, const Work& work) {
  std::vector<Calls> before;
  for (const auto& member : process.members) before.push_back(calls_of(*member));
  work();
  std::vector<Calls> asked;
  for (std::size_t i = 0; i < process.members.size(); ++i) {
    Calls now = calls_of(*process.members[i]);
    for (const auto& [kind, number] : before[i]) now[kind] -= number;
    std::erase_if(now, [](const auto& one) { return one.second == 0; });
    asked.push_back(now);
  }
  for (const Calls& one : asked) CHECK(one == asked.front());
  return asked.front();
}

}  // namespace

TEST_CASE("each member of a mirrored store is asked exactly as often as a claim needs",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  const auto claim = [&] { REQUIRE(lock->lock_try("x")); };
  const auto free = [&] { REQUIRE(lock->unlock() == UnlockResult::released); };
  // The lock, and the identity after that answer and after the grant.
  CHECK(asked_of_each(ann, claim) == Calls{{"inspect", 3}, {"claim", 1}});
  CHECK(asked_of_each(ann, free) == Calls{{"release", 1}});
  SECTION("from its own release by the claim alone") {
    CHECK(asked_of_each(ann, claim) == Calls{{"claim", 1}});
    CHECK(asked_of_each(ann, free) == Calls{{"release", 1}});
  }
  SECTION("by a round by a ping and a list of the holds, with the identity after each") {
    const auto round = [&] { ann.pinger->ping_round(); };
    CHECK(asked_of_each(ann, round) == Calls{{"ping", 1}, {"holds", 1}, {"inspect", 2}});
  }
}

// Somebody else has the other members by then.
TEST_CASE("an undo asks a member once that has granted the claim", "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const Claim claim = claim_of(*ann.store, Token{{2}});
  ann.members[0]->before("claim", [&] {
    for (const std::size_t member : {1, 2}) fleet.put_taken(member);
  });
  ann.members[0]->forget_calls();
  CHECK_FALSE(ann.store->claim("jobs", FromAbsent{}, claim));
  CHECK(calls_of(*ann.members[0]) == Calls{{"inspect", 3}, {"claim", 1}, {"release", 1}});
  CHECK(fleet.holders("jobs") == Names{"", "eve", "eve"});
}

TEST_CASE("a claim from the process's own release counts from when the members were asked for that",
          "[mirrored][M2][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  // The release may take so long that a member of before may have come between.
  const bool long_ago = GENERATE(true, false);
  const auto longest = ann.store->call_limit() / 2;
  ann.members[1]->after("release", [&] { fleet.clock->advance(longest + (long_ago ? 1ms : 0ms)); });
  REQUIRE(lock->unlock() == UnlockResult::released);
  const int looks = ann.members[1]->calls("inspect");
  REQUIRE(lock->lock_try("x"));
  CHECK((ann.members[1]->calls("inspect") > looks) == long_ago);
}

TEST_CASE("a claim from a release of long ago looks first", "[mirrored][M2][M3]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("first"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  bob.pinger->ping_round();
  bob.set_away(2, true);
  const auto rivals = bob.lock("jobs");
  REQUIRE(rivals->lock_try("x"));
  bob.set_away(2, false);
  const auto recent = GENERATE(true, false);
  fleet.clock->advance(ann.store->call_limit() + (recent ? 0ms : 1ms));
  CHECK_FALSE(lock->lock_try("again"));
  const auto left = fleet.stores[2].store->inspect("jobs", Freshness::fresh).lock;
  CHECK((left->fence == rivals->fence()) == recent);
}
