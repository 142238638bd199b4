#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "stores/mirrored/identity.h"
#include "stores/mirrored/quorum.h"
#include "support/mirror_fleet.h"
#include "support/tampering.h"
#include "support/thrown.h"

// One member shows what somebody has edited, and others are away: what a claim may be is in doubt
// until they are back (M3, M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr Fence kLastButOne = std::numeric_limits<Fence>::max() - 1;

void put_free_jobs(const MirrorFleet& fleet, std::size_t member, Fence fence) {
  fleet.stores[member].tables.put_lock(
      {{"_id", std::string("jobs")}, {"state", std::int32_t{0}}, {"fence", fence}});
}

/// Each member has heard of ann.
MirrorProcess pinging_ann(MirrorFleet& fleet) {
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  return ann;
}

}  // namespace

TEST_CASE("a great fence is in doubt where neither a majority shows one nor a majority less",
          "[mirrored][M3]") {
  using mirrored::great_in_doubt;
  using mirrored::kGreatFence;
  CHECK(great_in_doubt({1, kGreatFence}, 2) == 1);
  CHECK(great_in_doubt({kGreatFence, 1, kGreatFence, 1}, 3) == 0);
  CHECK_FALSE(great_in_doubt({1, kGreatFence, 1}, 2));
  CHECK_FALSE(great_in_doubt({kGreatFence, kGreatFence}, 2));
  CHECK_FALSE(great_in_doubt({1, kGreatFence - 1}, 2));
  CHECK_FALSE(great_in_doubt({}, 2));
}

TEST_CASE("a great fence of one member is that of no claim while another member is away",
          "[mirrored][M3][R10]") {
  MirrorFleet fleet;
  const auto ann = pinging_ann(fleet);
  const auto lock = ann.lock("jobs");
  const Fence great = GENERATE(as<Fence>(), mirrored::kGreatFence, kLastButOne - 1);
  const bool of_identity = GENERATE(false, true);
  if (of_identity) {
    tamper(fleet.stores[0].tables, mirrored::kIdentityName, "fence", great + 1);
  } else {
    put_free_jobs(fleet, 0, great);
  }
  ann.set_away(1, true);
  const auto claim = [&] { return lock->lock_try("x"); };
  CHECK(thrown_by(claim) == Errc::not_applied);
  const std::string document(of_identity ? mirrored::kIdentityName : "jobs");
  CHECK_THROWS_WITH(claim(), Catch::Contains("document \"" + document + "\" on ") &&
                                 Catch::Contains(std::to_string(of_identity ? great + 1 : great)) &&
                                 Catch::Contains("bring the other members back, mend what"));
  CHECK(fleet.fence(2, "jobs") == 0);
  ann.set_away(1, false);
  REQUIRE(lock->lock_try("y"));
  CHECK(lock->fence() == 1);
}

TEST_CASE("no hold is claimed anew with the great fence of one member while another is away",
          "[mirrored][M3][R10]") {
  MirrorFleet fleet;
  const auto ann = pinging_ann(fleet);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(17min);
  ann.pinger->ping_round();
  tamper(fleet.stores[0].tables, mirrored::kIdentityName, "fence", mirrored::kGreatFence + 1);
  ann.set_away(1, true);
  CHECK(thrown_by([&] { return lock->reclaim("y"); }) == Errc::not_applied);
  CHECK(fleet.fence(2, "jobs") == 1);
}

TEST_CASE("a great fence of one member ends no wait for another that is away",
          "[mirrored][M2][M3]") {
  MirrorFleet fleet;
  const auto ann = pinging_ann(fleet);
  put_free_jobs(fleet, 0, GENERATE(as<Fence>(), mirrored::kGreatFence, kLastButOne));
  ann.set_away(1, true);
  int looks = 0;
  ann.members[2]->during_each_call([&](const std::string& call) {
    if (call == "inspect" && ++looks == 8) ann.set_away(1, false);
  });
  const auto lock = ann.lock("jobs");
  CHECK(lock->try_lock_for(1min));
  CHECK(looks >= 8);
  CHECK(lock->fence() == 1);
  ann.members[2]->during_each_call({});
}
