// The document by which a member says that it is one of a set, or kept out of it (M6).
#include "stores/mirrored/identity.h"

#include <catch2/catch.hpp>

#include "unit/stores/mirrored/identity_document.h"

using namespace distlock;
using namespace distlock::mirrored;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr Token kOfThese{{5}};
constexpr Place kSecondOfThree{1, 3};
const SetTerms kTerms{kOfThese, 1h, {0, 7}};

Inspection look_that_shows(const Claim& claim) {
  return {.lock = document_of(claim), .fresh = true};
}

Inspection look_at_second() {
  return look_that_shows(identity_claim(Token{{1}}, kTerms, kSecondOfThree, {}));
}

}  // namespace

TEST_CASE("a member that is kept out says so, and why, and is none of the set", "[mirrored][M6]") {
  const Claim claim = marker_claim(Token{{1}}, kTerms, kSecondOfThree, {});
  CHECK(claim.who == "member 2 of 3, kept out");
  CHECK_THAT(claim.why, Catch::Contains("this store lost its data"));
  const Inspection seen = look_that_shows(claim);
  CHECK_FALSE(identity_in(seen, kSecondOfThree));
  REQUIRE(marker_in(seen, kSecondOfThree));
  CHECK(marker_in(seen, kSecondOfThree)->returns == kTerms.returns);
  CHECK(lacks_identity(seen, kSecondOfThree));
  CHECK_FALSE(lacks_identity(seen, {0, 3}));
}

TEST_CASE("an identity states a place of its own set, and no other", "[mirrored][M6][M7]") {
  for (std::size_t i = 0; i < 3; ++i) {
    const Inspection seen = look_that_shows(identity_claim(Token{{1}}, kTerms, {i, 3}, {}));
    CHECK(place_stated(seen, 3, kOfThese) == i);
    CHECK_FALSE(place_stated(seen, 3, Token{{6}}));
    CHECK_FALSE(place_stated(seen, 5, kOfThese));
  }
  const Inspection past = look_that_shows(identity_claim(Token{{1}}, kTerms, {3, 3}, {}));
  CHECK_FALSE(place_stated(past, 3, kOfThese));
}

TEST_CASE("an identity that names no set is none", "[mirrored][M6][R14]") {
  Inspection seen = look_at_second();
  REQUIRE(identity_in(seen, kSecondOfThree));
  seen.lock->process = "mirrored store of somebody's";
  CHECK_FALSE(identity_in(seen, kSecondOfThree));
}

TEST_CASE("a free document is no identity that somebody has changed", "[mirrored][M6]") {
  Inspection seen = look_at_second();
  CHECK_FALSE(is_changed_identity(seen));
  seen.lock->process = "somebody";
  CHECK(is_changed_identity(seen));
  seen.lock->state = LockState::free;
  CHECK_FALSE(is_changed_identity(seen));
  CHECK_FALSE(is_changed_identity({}));
}
