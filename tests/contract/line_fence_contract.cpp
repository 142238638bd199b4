#include <catch2/catch.hpp>

#include "contract/contract.h"
#include "distlock/line.h"

using namespace distlock;
using namespace distlock::testing;

TEST_CASE("a claim from the line may take a block of fences", "[store][line][R17][R21]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  Line* const line = store->line();
  REQUIRE(line != nullptr);
  const auto of_eight = [&](const std::string& process) {
    Claim claim = claim_by(*store, process);
    claim.fences = 8;
    return claim;
  };
  const Claim first = of_eight("a");
  const Claim second = of_eight("b");
  CHECK(line->stand("jobs", first).hold->fence == 8);
  CHECK_FALSE(line->stand("jobs", second).hold);
  // Asked once more it is the same hold, with the same fences.
  CHECK(line->stand("jobs", first).hold->fence == 8);
  REQUIRE(store->release("jobs", first.ts) == ReleaseResult::freed);
  CHECK(line->stand("jobs", second).hold->fence == 16);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->fence == 16);
}
