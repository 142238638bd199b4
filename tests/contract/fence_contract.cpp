#include <catch2/catch.hpp>
#include <limits>

#include "contract/contract.h"

// Claims that take several fences at once (R21).
using namespace distlock;
using namespace distlock::testing;

TEST_CASE("a claim may take a block of fences, and stores the last of them", "[store][R10][R21]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const auto of_eight = [&](Fence fence) {
    Claim claim = claim_by(*store, "contender");
    claim.fence = fence;
    claim.fences = 8;
    return claim;
  };
  const auto stored = [&] { return store->inspect("jobs", Freshness::fresh).lock->fence; };
  const Fence greatest = std::numeric_limits<Fence>::max();
  SECTION("from no document") {
    CHECK(claimed(*store, "jobs", FromAbsent{}, of_eight(0)).fence == 8);
    CHECK(stored() == 8);
  }
  SECTION("from no document, with a fence of its own") {
    CHECK(claimed(*store, "jobs", FromAbsent{}, of_eight(7)).fence == 14);
  }
  SECTION("from a free lock and from a hold") {
    under_test->put_lock(with(free_lock("jobs"), "fence", std::int64_t{41}));
    const LockRecord hold = claimed(*store, "jobs", FromFree{}, of_eight(0));
    CHECK(hold.fence == 49);
    CHECK(claimed(*store, "jobs", FromHold{*hold.ts}, of_eight(0)).fence == 57);
    CHECK(stored() == 57);
  }
  SECTION("up to the last fence but one") {
    under_test->put_lock(with(free_lock("jobs"), "fence", greatest - 9));
    CHECK(claimed(*store, "jobs", FromFree{}, of_eight(0)).fence == greatest - 1);
  }
  SECTION("and one fence where so many would come to the last") {
    const Fence before = GENERATE_COPY(greatest - 8, greatest - 3, greatest - 2);
    under_test->put_lock(with(free_lock("jobs"), "fence", before));
    CHECK(claimed(*store, "jobs", FromFree{}, of_eight(0)).fence == before + 1);
    CHECK(stored() == before + 1);
  }
  SECTION("and one of its own where so many would come to the last") {
    under_test->put_lock(with(free_lock("jobs"), "fence", std::int64_t{5}));
    CHECK(claimed(*store, "jobs", FromFree{}, of_eight(greatest - 4)).fence == greatest - 4);
  }
}
