// Claims for which little time is left, and members that are waited for all the same (M2).
#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A rival has those members by then, so that a claim is refused there.
void let_rival_have(ThreeMembers& three, std::size_t member) {
  const Claim rival = claim_of(*three.members[member], Token{{9}});
  three.stores[member].store->claim("jobs", FromAbsent{}, rival);
}

}  // namespace

// The first member grants the claim, and does not answer when it is to free it.
TEST_CASE("an undo ends within the call limit of its claim, or is not made", "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const Claim claim = claim_of(*three.store, Token{{1}});
  const int eighths = GENERATE(4, 5, 7);  // Of the claim's time, which are over before the undo.
  const auto limit = three.store->call_limit();
  three.members[0]->before("release", [&] { gate.pass(); });
  three.members[1]->before("claim", [&] {
    let_rival_have(three, 1);
    three.clock->advance(limit * eighths / 8);
  });
  three.members[2]->before("claim", [&] { let_rival_have(three, 2); });
  const SteadyTime begun = three.clock->steady_now();
  CHECK_FALSE(three.store->claim("jobs", FromAbsent{}, claim));
  CHECK(three.store->members()->take_left(claim.ts));
  CHECK(three.clock->steady_now() - begun == (eighths == 7 ? limit * eighths / 8 : limit));
  CHECK(three.members[0]->calls("release") == (eighths == 7 ? 0 : 1));
}

TEST_CASE("an undo for which no time is left is sent to a member that does not write",
          "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const Claim claim = claim_of(*three.store, Token{{1}});
  three.members[0]->during_each_call([&](const std::string&) { gate.pass(); });
  three.members[1]->before("claim", [&] { gate.pass(); });
  const SteadyTime begun = three.clock->steady_now();
  CHECK(thrown_by([&] { three.store->claim("jobs", FromAbsent{}, claim); }) ==
        Errc::outcome_unknown);
  three.settle();
  CHECK(three.members[1]->calls("release") == 1);
  CHECK(three.clock->steady_now() - begun == three.store->call_limit());
}

// Its last write was in vain.
TEST_CASE("a claim waits for a member that was away where that one can make the majority",
          "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  const bool first_grants = GENERATE(true, false);
  const Claim earlier = claim_of(*three.store, Token{{1}});
  three.members[2]->fail("claim", Fault::lost_request);
  REQUIRE(three.store->claim("other", FromAbsent{}, earlier));
  const Claim claim = claim_of(*three.store, Token{{2}});
  static_cast<void>(three.store->ping("ann"));  // From then on looks wait for it, too.
  three.members[first_grants ? 1 : 0]->fail("claim", Fault::rejected);
  three.members[2]->before("claim", [&] { gate.pass(); });
  CHECK(thrown_by([&] { three.store->claim("jobs", FromAbsent{}, claim); }) ==
        Errc::outcome_unknown);
  CHECK(three.waits() == 1);
}
