#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "contract/contract.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// Eight contenders, each with a handle of its own, claim from the same basis at once.
int winners_of_eight(StoreUnderTest& under_test, const ClaimBasis& basis) {
  std::atomic<int> winners = 0;
  boost::barrier start(8);
  boost::thread_group threads;
  for (int i = 0; i < 8; ++i) {
    const std::shared_ptr<Store> store = under_test.open();
    const Claim claim = claim_by(*store, "p" + std::to_string(i));
    threads.create_thread([&winners, &start, &basis, store, claim] {
      start.wait();
      if (store->claim("jobs", basis, claim)) ++winners;
    });
  }
  threads.join_all();
  return winners;
}

}  // namespace

TEST_CASE("a lock that nobody has claimed is not there", "[store]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Inspection inspection = store->inspect("jobs", Freshness::ordinary);
  CHECK_FALSE(inspection.lock);
  CHECK_FALSE(inspection.ping);
}

TEST_CASE("a claim writes what it says and gives it back", "[store][R2]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Claim claim = claim_by(*store, "db7:1300000000:1");
  const StoreTime before = store->list().now.time;
  const LockRecord lock = claimed(*store, "jobs", FromAbsent{}, claim);

  CHECK(lock.name == "jobs");
  CHECK(lock.state == LockState::taken);
  CHECK(lock.process == claim.process);
  CHECK(lock.who == claim.who);
  CHECK(lock.why == claim.why);
  CHECK(lock.ts == claim.ts);
  CHECK(lock.fence == 1);
  CHECK(lock.takeover_after == claim.takeover_after);
  REQUIRE(lock.when);
  CHECK(*lock.when >= before);
  CHECK(*lock.when <= store->list().now.time);
}

TEST_CASE("a claim gives the record that another process reads", "[store][R2]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  LockRecord lock = held(*store, "jobs");
  SECTION("of a lock that nobody has claimed") {}
  SECTION("of a lock that was released, and then of its hold") {
    REQUIRE(store->release("jobs", *lock.ts) == ReleaseResult::freed);
    lock = claimed(*store, "jobs", FromFree{lock.ts}, claim_by(*store, "second"));
    check_shown(*under_test->open(), lock);
    lock = claimed(*store, "jobs", FromHold{*lock.ts, {}}, claim_by(*store, "third"));
  }
  check_shown(*under_test->open(), lock);
}

TEST_CASE("a claim matches only what it starts from", "[store][R2]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Claim claim = claim_by(*store, "contender");

  SECTION("no document") {
    CHECK_FALSE(store->claim("jobs", FromFree{}, claim));
    CHECK_FALSE(store->claim("jobs", FromHold{new_token()}, claim));
    CHECK(store->claim("jobs", FromAbsent{}, claim));
  }
  SECTION("a free one") {
    under_test->put_lock(free_lock("jobs"));
    CHECK_FALSE(store->claim("jobs", FromHold{new_token()}, claim));
    CHECK(store->claim("jobs", FromFree{}, claim));
  }
  SECTION("one that was held and released") {
    const LockRecord lock = held(*store, "jobs");
    REQUIRE(store->release("jobs", *lock.ts) == ReleaseResult::freed);
    CHECK_FALSE(store->claim("jobs", FromHold{*lock.ts}, claim));
    CHECK(store->claim("jobs", FromFree{}, claim));
  }
  SECTION("a held one") {
    const LockRecord lock = held(*store, "jobs");
    CHECK_FALSE(store->claim("jobs", FromAbsent{}, claim));
    CHECK_FALSE(store->claim("jobs", FromFree{}, claim));
    CHECK_FALSE(store->claim("jobs", FromHold{new_token()}, claim));
    CHECK(store->claim("jobs", FromHold{*lock.ts}, claim));
  }
}

TEST_CASE("a hold of MongoDB's own lock manager is taken over by its token", "[store][R2][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Token theirs = new_token();
  under_test->put_lock(with(taken_lock("jobs", "sh", theirs), "state", std::int32_t{2}));

  CHECK_FALSE(store->claim("jobs", FromFree{}, claim_by(*store, "contender")));
  CHECK(store->inspect("jobs", Freshness::ordinary).lock->state == LockState::taken_by_mongodb);
  CHECK(claimed(*store, "jobs", FromHold{theirs}, claim_by(*store, "contender")).fence == 1);
}

TEST_CASE("a later hold with the same token is not taken over", "[store][R2]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Token theirs = new_token();
  under_test->put_lock(with(taken_lock("jobs", "sh", theirs), "state", std::int32_t{2}));
  const StoreTime taken = store->inspect("jobs", Freshness::ordinary).lock->when.value();
  const auto before = under_test->raw_lock("jobs");

  const FromHold earlier{theirs, taken - std::chrono::milliseconds{1}};
  CHECK_FALSE(store->claim("jobs", earlier, claim_by(*store, "contender")));
  CHECK(under_test->raw_lock("jobs") == before);
  CHECK(store->claim("jobs", FromHold{theirs, taken}, claim_by(*store, "contender")));
}

TEST_CASE("a claim that does not match changes nothing", "[store][R2]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const auto before = under_test->raw_lock("jobs");

  CHECK_FALSE(store->claim("jobs", FromHold{new_token()}, claim_by(*store, "contender")));
  CHECK_FALSE(store->claim("jobs", FromFree{}, claim_by(*store, "contender")));
  CHECK_FALSE(store->claim("jobs", FromAbsent{}, claim_by(*store, "contender")));
  CHECK(under_test->raw_lock("jobs") == before);
}

TEST_CASE("of eight contenders claiming one lock at once exactly one wins", "[store][R1][R2]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();

  SECTION("that nobody has claimed") { CHECK(winners_of_eight(*under_test, FromAbsent{}) == 1); }
  SECTION("that is free") {
    under_test->put_lock(free_lock("jobs"));
    CHECK(winners_of_eight(*under_test, FromFree{}) == 1);
  }
  SECTION("that is held by the dead") {
    const LockRecord lock = held(*store, "jobs");
    CHECK(winners_of_eight(*under_test, FromHold{*lock.ts}) == 1);
    CHECK(store->inspect("jobs", Freshness::fresh).lock->fence == lock.fence + 1);
  }
}

TEST_CASE("a claim past its cutoff takes nothing", "[store][R8]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  Claim claim = claim_by(*store, "contender");
  const bool by_its_own_clock = GENERATE(true, false);
  if (by_its_own_clock) {
    claim.cutoff = cutoff_in(*store, -1ms);
  } else {
    claim.cutoff.clock += " of another";
  }

  SECTION("from no document") {
    CHECK_FALSE(store->claim("jobs", FromAbsent{}, claim));
    const auto lock = store->inspect("jobs", Freshness::fresh).lock;
    CHECK_FALSE((lock && lock->taken()));
  }
  SECTION("from a free one") {
    const bool freed_from_it = GENERATE(false, true);
    const Document lock = free_lock("jobs");
    under_test->put_lock(freed_from_it ? with(lock, "ts", claim.ts) : lock);
    const auto before = under_test->raw_lock("jobs");
    CHECK_FALSE(store->claim("jobs", FromFree{}, claim));
    CHECK(under_test->raw_lock("jobs") == before);
  }
  SECTION("from a held one") {
    const LockRecord lock = held(*store, "jobs");
    const auto before = under_test->raw_lock("jobs");
    CHECK_FALSE(store->claim("jobs", FromHold{*lock.ts}, claim));
    CHECK(under_test->raw_lock("jobs") == before);
  }
}

TEST_CASE("the fence grows by one with every claim and never goes back", "[store][R10]") {
  const auto under_test = make_store_under_test();
  auto store = under_test->open();
  LockRecord lock = held(*store, "jobs");
  REQUIRE(lock.fence == 1);

  REQUIRE(store->release("jobs", *lock.ts) == ReleaseResult::freed);
  lock = claimed(*store, "jobs", FromFree{}, claim_by(*store, "second"));
  CHECK(lock.fence == 2);

  lock = claimed(*store, "jobs", FromHold{*lock.ts}, claim_by(*store, "third"));
  CHECK(lock.fence == 3);

  REQUIRE(store->release("jobs", *lock.ts) == ReleaseResult::freed);
  store->forget_pings(std::chrono::days{4});
  store = under_test->open();
  CHECK(claimed(*store, "jobs", FromFree{}, claim_by(*store, "fourth")).fence == 4);
}

TEST_CASE("a claim that would come to the last fence is refused, and changes nothing",
          "[store][R10]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Fence last_but_one = std::numeric_limits<Fence>::max() - 1;
  const Token theirs = new_token();
  const bool taken = GENERATE(true, false);
  under_test->put_lock(
      with(taken ? taken_lock("jobs", "gone", theirs) : free_lock("jobs"), "fence", last_but_one));
  const auto before = under_test->raw_lock("jobs");
  const ClaimBasis basis = taken ? ClaimBasis{FromHold{theirs}} : ClaimBasis{FromFree{}};
  Claim claim = claim_by(*store, "contender");
  CHECK_FALSE(store->claim("jobs", basis, claim));
  claim.fence = std::numeric_limits<Fence>::max();
  CHECK_FALSE(store->claim("jobs", basis, claim));
  CHECK(under_test->raw_lock("jobs") == before);
}

TEST_CASE("a fence that cannot grow is not claimed rather than begun anew", "[store][R10]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(with(free_lock("jobs"), "fence", std::numeric_limits<Fence>::max()));
  const auto before = under_test->raw_lock("jobs");
  CHECK_FALSE(store->claim("jobs", FromFree{}, claim_by(*store, "contender")));
  CHECK(under_test->raw_lock("jobs") == before);
}

TEST_CASE("a claim from a free lock may name the hold that it was freed from", "[store][R2][R8]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Claim first = claim_by(*store, "first");
  claimed(*store, "jobs", FromAbsent{}, first);
  REQUIRE(store->release("jobs", first.ts) == ReleaseResult::freed);

  CHECK_FALSE(store->claim("jobs", FromFree{Token{{7}}}, claim_by(*store, "late")));
  CHECK(store->claim("jobs", FromFree{first.ts}, claim_by(*store, "next")));
  CHECK_FALSE(store->claim("jobs", FromFree{first.ts}, claim_by(*store, "late")));
}

TEST_CASE("a claim with a fence of its own is granted where the stored one is less",
          "[store][R10]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const auto with_fence = [&](Fence fence) {
    Claim claim = claim_by(*store, "contender");
    claim.fence = fence;
    return claim;
  };
  SECTION("from no document") {
    CHECK(claimed(*store, "jobs", FromAbsent{}, with_fence(7)).fence == 7);
  }
  SECTION("from a document without a fence") {
    under_test->put_lock(free_lock("jobs"));
    CHECK(claimed(*store, "jobs", FromFree{}, with_fence(7)).fence == 7);
  }
  SECTION("from a hold") {
    under_test->put_lock(with(taken_lock("jobs", "gone", Token{{9}}), "fence", std::int64_t{6}));
    CHECK(claimed(*store, "jobs", FromHold{Token{{9}}}, with_fence(7)).fence == 7);
    CHECK(store->inspect("jobs", Freshness::fresh).lock->fence == 7);
  }
  SECTION("and refused where it is not") {
    const Fence stored = GENERATE(7, 8);
    under_test->put_lock(with(free_lock("jobs"), "fence", stored));
    const auto before = under_test->raw_lock("jobs");
    CHECK_FALSE(store->claim("jobs", FromFree{}, with_fence(7)));
    CHECK(under_test->raw_lock("jobs") == before);
    CHECK(claimed(*store, "jobs", FromFree{}, with_fence(stored + 1)).fence == stored + 1);
  }
}
