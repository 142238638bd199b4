#include "stores/mirrored/refused_claims.h"

#include <catch2/catch.hpp>
#include <chrono>

// Claims that a member refused, and shows the same again (M2).

using namespace distlock;
using namespace distlock::mirrored;
using namespace std::chrono_literals;

namespace {

const Token kRefusing{{11}};
const Token kRefused{{1}};
const StoreTime kTakenAt{480000h};

MemberBasis on_refusing(const ClaimBasis& basis) { return {kRefusing, basis}; }

}  // namespace

TEST_CASE("a claim that a member refused is known by its lock and its member", "[mirrored][M2]") {
  RefusedClaims refused;
  const ClaimBasis basis = GENERATE(values<ClaimBasis>(
      {FromAbsent{}, FromFree{}, FromFree{kRefused}, FromHold{kRefused, kTakenAt}}));
  refused.note("jobs", on_refusing(basis));
  CHECK(refused.contains("jobs", on_refusing(basis)));
  CHECK_FALSE(refused.contains("other", on_refusing(basis)));
  CHECK_FALSE(refused.contains("jobs", {Token{{12}}, basis}));
}

// MongoDB's own lock manager gives all holds of a shard one `ts`.
TEST_CASE("a claim that a member refused says nothing of another hold with the same ts",
          "[mirrored][M2]") {
  RefusedClaims refused;
  refused.note("jobs", on_refusing(FromHold{kRefused, kTakenAt}));
  CHECK(refused.contains("jobs", on_refusing(FromHold{kRefused, kTakenAt})));
  CHECK_FALSE(refused.contains("jobs", on_refusing(FromHold{kRefused, kTakenAt + 1ms})));
  CHECK_FALSE(refused.contains("jobs", on_refusing(FromHold{kRefused, {}})));
  CHECK_FALSE(refused.contains("jobs", on_refusing(FromHold{Token{{2}}, kTakenAt})));
  CHECK_FALSE(refused.contains("jobs", on_refusing(FromFree{kRefused})));
}

TEST_CASE("of the claims that a member refused the last one is known", "[mirrored][M2]") {
  RefusedClaims refused;
  refused.note("jobs", on_refusing(FromAbsent{}));
  refused.note("jobs", on_refusing(FromFree{kRefused}));
  CHECK_FALSE(refused.contains("jobs", on_refusing(FromAbsent{})));
  CHECK(refused.contains("jobs", on_refusing(FromFree{kRefused})));
  CHECK_FALSE(refused.contains("jobs", on_refusing(FromFree{Token{{2}}})));
}
