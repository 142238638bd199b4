// A claim that is refused for what some members show names them (M3, M6).
#include <catch2/catch.hpp>
#include <string>

#include "distlock/error.h"
#include "identity_name.h"
#include "stores/mirrored/quorum.h"
#include "support/tampering.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/named_places.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

void set_longest_window(NamedPlaces& named, std::size_t member, std::chrono::milliseconds window) {
  tamper(named.fleet.stores[member].tables, kIdentityName, "takeover_after",
         std::int64_t{window.count()});
}

}  // namespace

TEST_CASE("a claim that a great fence keeps in doubt names the member that has it",
          "[mirrored][M3]") {
  NamedPlaces named;
  const std::size_t great = GENERATE(0, 1, 2);
  const Claim claim = claim_of(*named.store, Token{{1}});
  tamper(named.fleet.stores[great].tables, kIdentityName, "fence", mirrored::kGreatFence + 1);
  named.places[(great + 1) % 3]->fail("inspect", Fault::rejected);
  CHECK_THROWS_WITH(named.store->claim("jobs", FromAbsent{}, claim),
                    Catch::Contains("on place " + std::to_string(great + 1) + " is as great as"));
}

TEST_CASE("a window that some members alone deny names those, and no other", "[mirrored][M6][M2]") {
  NamedPlaces founded;
  set_longest_window(founded, 0, 1ms);
  set_longest_window(founded, 2, 16min);
  // This process has never heard of the second member.
  const auto store = make_mirrored_store({founded.places[0], founded.places[1], founded.places[2]},
                                         founded.fleet.clock, {MirrorDrive::caller, {}});
  founded.places[1]->during_each_call(
      [](const std::string&) { throw Error(Errc::not_applied, "it is away"); });
  const Claim claim = claim_of(*store, Token{{1}});
  REQUIRE(claim.takeover_after == 16min);
  const auto claimed = [&] { return store->claim("jobs", FromAbsent{}, claim); };
  CHECK(thrown_by(claimed) == Errc::not_applied);
  CHECK_THROWS_WITH(claimed(), Catch::Contains("; place 1 allows 1 ms: bring"));
}

TEST_CASE("a claim is refused where too few members have an identity to tell its window",
          "[mirrored][M2][M6]") {
  NamedPlaces named;
  Claim claim = claim_of(*named.store, Token{{1}});
  claim.fence = 1;
  std::vector<MemberBasis> bases;
  for (const MemberState& member : named.store->members()->states()) {
    bases.push_back({member.member, FromAbsent{}});
  }
  for (const std::size_t member : {1, 2}) named.fleet.empty(member);
  REQUIRE(thrown_by([&] { return named.store->list(); }) == Errc::not_applied);
  CHECK_FALSE(named.store->members()->claim_from("jobs", bases, claim));
}
