#include <catch2/catch.hpp>

#include "contract/contract.h"
#include "distlock/line.h"
#include "support/thrown.h"

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

TEST_CASE("a place in line for more fences than there are is refused", "[store][line][R10][R21]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  Line* const line = store->line();
  REQUIRE(line != nullptr);
  const Fence greatest = std::numeric_limits<Fence>::max();
  Claim claim = claim_by(*store, "a");
  claim.fences = 5;
  const Fence before = GENERATE_COPY(greatest - 7, greatest - 6, greatest - 5, greatest - 3);
  CAPTURE(greatest - before);
  under_test->put_lock(with(free_lock("jobs"), "fence", before));
  if (before < greatest - claim.fences) {
    CHECK(line->stand("jobs", claim).hold->fence == before + 5);
    return;
  }
  CHECK(thrown_by([&] { return line->stand("jobs", claim); }) == Errc::bad_record);
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->taken());
  CHECK(store->inspect("jobs", Freshness::fresh).lock->fence == before);
  claim.fences = 1;
  CHECK(line->stand("jobs", claim).hold->fence == before + 1);
}

TEST_CASE("a place in line for less than one fence is an error", "[store][line][R10][R21]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  REQUIRE(store->line() != nullptr);
  Claim claim = claim_by(*store, "a");
  claim.fences = GENERATE(std::int64_t{0}, std::int64_t{-1});
  CHECK(thrown_by([&] { return store->line()->stand("jobs", claim); }) == Errc::invalid_argument);
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock);
}
