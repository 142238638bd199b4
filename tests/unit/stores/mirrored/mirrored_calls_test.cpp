#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "unit/stores/mirrored/held_on_two.h"

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
