#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "stores/mirrored/returning.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Malformed documents of other members, and the fence that a member has to know to come back (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

Document malformed(const std::string& lock, std::optional<Fence> fence = {}) {
  Document document{{"_id", lock}, {"state", std::string("odd")}};
  if (fence) document.emplace_back("fence", *fence);
  return document;
}

}  // namespace

TEST_CASE("a malformed document that tells its fence keeps no member out",
          "[mirrored][M6][R10][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.stores[2].tables.put_lock(malformed("jobs", 7));
  fleet.rounds({&ann}, 65min);
  REQUIRE(ann.condition(1) == Condition::counts);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->fence() > 7);
}

TEST_CASE("malformed documents of two locks on two members keep no third one out",
          "[mirrored][M6][R10][R14]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.stores[2].tables.put_lock(malformed("jobs"));
  fleet.stores[3].tables.put_lock(malformed("other"));
  fleet.stores[2].tables.put_lock(
      {{"_id", std::string("third")}, {"state", std::int32_t{0}}, {"fence", Fence{9}}});
  fleet.rounds({&ann}, 65min);
  REQUIRE(ann.condition(1) == Condition::counts);
  // The second member has heard of that fence.
  ann.set_away(2, true);
  const auto lock = ann.lock("third");
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->fence() > 9);
}

TEST_CASE("a member that another one's malformed document keeps out shows that, and no time",
          "[mirrored][M6][M8][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  fleet.empty(1);
  fleet.rounds({&ann}, 3 * 30s);
  const auto second = [&] { return ann.store->members()->states()[1]; };
  const auto readmit = [&] { return ann.store->members()->readmit(1); };
  REQUIRE(second().condition == Condition::kept_out);
  CHECK(second().kept_out_for == 1h);
  CHECK(second().problem.empty());

  fleet.stores[2].tables.put_lock(malformed("jobs"));
  CHECK(second().condition == Condition::kept_out);
  CHECK_FALSE(second().kept_out_for);
  CHECK_THAT(second().problem, Catch::Contains("lock \"jobs\" on member 3 is malformed") &&
                                   Catch::Contains("distlock readmit 2"));
  CHECK(thrown_by(readmit) == Errc::not_applied);
  CHECK_THROWS_WITH(readmit(), Catch::Contains("the document of lock \"jobs\" on") &&
                                   Catch::Contains("mend that document"));

  fleet.stores[2].tables.put_lock(malformed("jobs", 7));
  CHECK(second().kept_out_for == 1h);
  CHECK(second().problem.empty());
  CHECK(readmit());
}

TEST_CASE("a member whose identity hides its fence tells the fence of no lock",
          "[mirrored][M6][R14]") {
  mirrored::ListingsByPlace listings;
  for (std::size_t place = 0; place < 4; ++place) listings[place] = {};
  listings[0].locks.push_back({"jobs", {}, "it is odd"});
  const auto only_one_lock = mirrored::known_fences(listings, 3);
  CHECK(only_one_lock.known == 3);
  CHECK(only_one_lock.hidden.empty());

  listings[3].locks.push_back({std::string(mirrored::kIdentityName), {}, "it is odd"});
  const auto beside_an_identity = mirrored::known_fences(listings, 3);
  CHECK(beside_an_identity.known == 2);
  CHECK(beside_an_identity.hidden.contains(0));
  CHECK(beside_an_identity.hidden.contains(3));
}
