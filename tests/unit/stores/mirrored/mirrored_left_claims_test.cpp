#include <catch2/catch.hpp>
#include <memory>

#include "support/mirror_fleet.h"

// Claims that a majority refuses while a member gives no answer (M2).

using namespace distlock;
using namespace distlock::testing;

TEST_CASE("a claim that is refused by a majority is freed later where a member gave no answer",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto anns = ann.lock("jobs");
  const auto bobs = bob.lock("jobs");
  const std::size_t silent = GENERATE(0, 1, 2);
  REQUIRE(anns->lock_try("x"));
  REQUIRE(anns->unlock() == UnlockResult::released);
  // So that what ann remembers is true no more on the other two.
  bob.set_away(silent, true);
  REQUIRE(bobs->lock_try("y"));
  REQUIRE(bobs->unlock() == UnlockResult::released);
  const bool granted = GENERATE(false, true);
  ann.members[silent]->fail("claim", granted ? Fault::lost_reply : Fault::lost_request);
  ann.members[silent]->fail("release", Fault::lost_request);
  const auto begun = fleet.clock->waited();
  CHECK(anns->lock_try("z"));
  CHECK(fleet.clock->waited() - begun < ann.store->call_limit());
  CHECK(ann.pinger->stats().pending_releases == 1);
  REQUIRE(anns->unlock() == UnlockResult::released);
  fleet.rounds({&ann}, std::chrono::minutes{5});
  CHECK(fleet.holders("jobs") == std::vector<std::string>(3, ""));
  CHECK(ann.pinger->stats().pending_releases == 0);
}
