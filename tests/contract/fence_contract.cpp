#include <catch2/catch.hpp>
#include <limits>

#include "contract/contract.h"
#include "support/thrown.h"

// Claims that take several fences at once (R21), and one that keeps its fence (M9).
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
  SECTION("up to the last fence but one, with a fence of its own") {
    under_test->put_lock(with(free_lock("jobs"), "fence", std::int64_t{5}));
    CHECK(claimed(*store, "jobs", FromFree{}, of_eight(greatest - 8)).fence == greatest - 1);
  }
}

TEST_CASE("a claim for more fences than there are is refused, and changes nothing",
          "[store][R10][R21]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Fence greatest = std::numeric_limits<Fence>::max();
  const auto claim_of = [&](Fence fence, Fence fences) {
    Claim claim = claim_by(*store, "contender");
    claim.fence = fence;
    claim.fences = fences;
    return claim;
  };
  const auto stored = [&] { return store->inspect("jobs", Freshness::fresh).lock; };
  SECTION("by however many") {
    const Fence before = GENERATE_COPY(greatest - 5, greatest - 4, greatest - 3, greatest - 2);
    under_test->put_lock(with(free_lock("jobs"), "fence", before));
    CHECK_FALSE(store->claim("jobs", FromFree{}, claim_of(0, 5)));
    CHECK_FALSE(stored()->taken());
    CHECK(stored()->fence == before);
    // One fence is to be had, and with the greatest there is the lock would be malformed.
    if (before < greatest - 1)
      CHECK(claimed(*store, "jobs", FromFree{}, claim_of(0, 1)).fence == before + 1);
  }
  SECTION("from a hold") {
    const LockRecord hold = claimed(*store, "jobs", FromAbsent{}, claim_of(greatest - 4, 1));
    CHECK_FALSE(store->claim("jobs", FromHold{*hold.ts}, claim_of(0, 5)));
    CHECK(stored()->ts == hold.ts);
  }
  SECTION("with a fence of its own") {
    under_test->put_lock(with(free_lock("jobs"), "fence", std::int64_t{5}));
    CHECK_FALSE(store->claim("jobs", FromFree{}, claim_of(greatest - 4, 5)));
    CHECK(stored()->fence == 5);
  }
  SECTION("from no document") {
    CHECK_FALSE(store->claim("jobs", FromAbsent{}, claim_of(greatest - 4, 5)));
    CHECK_FALSE(store->claim("jobs", FromAbsent{}, claim_of(0, greatest)));
  }
}

TEST_CASE("a hold that is claimed anew from itself may keep its fence", "[store][M9][R10]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord hold = claimed(*store, "jobs", FromAbsent{}, claim_by(*store, "holder"));
  Claim anew = claim_by(*store, "holder");
  anew.ts = *hold.ts;
  anew.fence = hold.fence;
  SECTION("from whenever it is") {
    const LockRecord again = claimed(*store, "jobs", FromHold{*hold.ts}, anew);
    CHECK(again.fence == hold.fence);
    CHECK(again.ts == hold.ts);
    CHECK(store->inspect("jobs", Freshness::fresh).lock->fence == hold.fence);
  }
  SECTION("and no other moment's") {
    const FromHold earlier{*hold.ts, *hold.when - std::chrono::minutes{1}};
    CHECK_FALSE(store->claim("jobs", earlier, anew));
  }
  SECTION("and no smaller fence") {
    claimed(*store, "jobs", FromHold{*hold.ts}, claim_by(*store, "holder"));
    const LockRecord later = *store->inspect("jobs", Freshness::fresh).lock;
    anew.ts = *later.ts;
    CHECK_FALSE(store->claim("jobs", FromHold{*later.ts, later.when}, anew));
  }
  SECTION("and not of another hold") {
    anew.ts = claim_by(*store, "other").ts;
    CHECK_FALSE(store->claim("jobs", FromHold{*hold.ts, hold.when}, anew));
  }
  SECTION("and not once it is free") {
    REQUIRE(store->release("jobs", *hold.ts) == ReleaseResult::freed);
    CHECK_FALSE(store->claim("jobs", FromFree{*hold.ts}, anew));
    CHECK_FALSE(store->claim("jobs", FromHold{*hold.ts, hold.when}, anew));
    CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->taken());
  }
}

TEST_CASE("a repair may have the fence that a free lock has, and no smaller one",
          "[store][M9][M3]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Token freed = new_token();
  under_test->put_lock(with(with(free_lock("jobs"), "fence", std::int64_t{5}), "ts", freed));
  Claim repair = claim_by(*store, "holder");
  repair.fence = 5;
  SECTION("a repair has it") {
    repair.repairs = true;
    CHECK(claimed(*store, "jobs", FromFree{freed}, repair).fence == 5);
    const auto stored = store->inspect("jobs", Freshness::fresh).lock;
    CHECK(stored->ts == repair.ts);
    CHECK(stored->fence == 5);
    // The same request, come once more.
    CHECK_FALSE(store->claim("jobs", FromFree{freed}, repair));
  }
  SECTION("a claim has it not") { CHECK_FALSE(store->claim("jobs", FromFree{freed}, repair)); }
  SECTION("nor has a repair that does not say what it starts from") {
    repair.repairs = true;
    CHECK_FALSE(store->claim("jobs", FromFree{}, repair));
  }
  SECTION("nor where this very hold was freed") {
    repair.repairs = true;
    repair.ts = freed;
    CHECK_FALSE(store->claim("jobs", FromFree{freed}, repair));
  }
  SECTION("nor over a hold") {
    repair.repairs = true;
    const LockRecord other = claimed(*store, "jobs", FromFree{freed}, claim_by(*store, "other"));
    repair.fence = other.fence;
    CHECK_FALSE(store->claim("jobs", FromHold{*other.ts, other.when}, repair));
  }
  SECTION("nor a smaller one") {
    repair.repairs = true;
    repair.fence = 4;
    CHECK_FALSE(store->claim("jobs", FromFree{freed}, repair));
  }
}

TEST_CASE("a claim for less than one fence is an error", "[store][R10][R21]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(with(free_lock("jobs"), "fence", std::int64_t{5}));
  Claim claim = claim_by(*store, "contender");
  claim.fences = GENERATE(std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<Fence>::min());
  CHECK(thrown_by([&] { return store->claim("jobs", FromFree{}, claim); }) ==
        Errc::invalid_argument);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->fence == 5);
}

TEST_CASE("a listing tells the fence of a malformed document where that is well-formed",
          "[store][R10][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const auto told = [&](const Document& lock) {
    under_test->put_lock(lock);
    const auto listed = store->list().locks.at(0);
    CHECK_FALSE(listed.record);
    return listed.fence;
  };
  const Document odd = with(free_lock("jobs"), "state", std::string("x"));
  CHECK(told(with(odd, "fence", std::int64_t{7})) == 7);
  CHECK_FALSE(told(odd));
  CHECK_FALSE(told(with(odd, "fence", std::int64_t{-1})));
  CHECK_FALSE(told(with(odd, "fence", std::string("7"))));
  CHECK_FALSE(told(with(odd, "fence", std::numeric_limits<Fence>::max())));
}
