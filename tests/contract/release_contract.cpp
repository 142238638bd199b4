#include <algorithm>
#include <catch2/catch.hpp>

#include "contract/contract.h"

using namespace distlock;
using namespace distlock::testing;

TEST_CASE("a release frees the hold that it names", "[store][R3]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord lock = held(*store, "jobs");

  CHECK(store->release("jobs", *lock.ts) == ReleaseResult::freed);
  CHECK_FALSE(under_test->open()->inspect("jobs", Freshness::fresh).lock->taken());
}

TEST_CASE("a release changes the state, notes its time, and nothing else", "[store][R3]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord lock = held(*store, "jobs");
  const auto before = under_test->raw_lock("jobs");
  REQUIRE(store->release("jobs", *lock.ts) == ReleaseResult::freed);
  const auto after = under_test->raw_lock("jobs");

  REQUIRE(after);
  CHECK(without(without(*after, "freed_at"), "state") ==
        without(without(*before, "freed_at"), "state"));
}

TEST_CASE("a repeated release finds the lock free already", "[store][R3][R8]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord lock = held(*store, "jobs");
  REQUIRE(store->release("jobs", *lock.ts) == ReleaseResult::freed);
  CHECK(store->release("jobs", *lock.ts) == ReleaseResult::already_free);
}

TEST_CASE("a release of what is not ours changes nothing", "[store][R3]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();

  SECTION("a lock that nobody has claimed") {
    CHECK(store->release("jobs", new_token()) == ReleaseResult::not_ours);
    CHECK_FALSE(under_test->raw_lock("jobs"));
  }
  SECTION("a lock that another holds") {
    held(*store, "jobs");
    const auto before = under_test->raw_lock("jobs");
    CHECK(store->release("jobs", new_token()) == ReleaseResult::not_ours);
    CHECK(under_test->raw_lock("jobs") == before);
  }
  SECTION("a lock that was taken over from us") {
    const LockRecord ours = held(*store, "jobs");
    claimed(*store, "jobs", FromHold{*ours.ts}, claim_by(*store, "next"));
    const auto before = under_test->raw_lock("jobs");
    CHECK(store->release("jobs", *ours.ts) == ReleaseResult::not_ours);
    CHECK(under_test->raw_lock("jobs") == before);
  }
  SECTION("the same token under another name") {
    const LockRecord lock = held(*store, "jobs");
    CHECK(store->release("mail", *lock.ts) == ReleaseResult::not_ours);
    CHECK(store->inspect("jobs", Freshness::fresh).lock->taken());
  }
}

TEST_CASE("a hold of the original is released by its token", "[store][R3]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Token theirs = new_token();
  under_test->put_lock(taken_lock("jobs", "db7:1300000000:1", theirs));
  CHECK(store->release("jobs", theirs) == ReleaseResult::freed);
}

TEST_CASE("a hold of MongoDB's own lock manager is released, and is its process's", "[store][R3]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Token theirs = new_token();
  under_test->put_lock(with(taken_lock("jobs", "db7", theirs), "state", std::int32_t{2}));
  REQUIRE(store->holds("db7").size() == 1);
  CHECK(store->holds("db7").front().ts == theirs);
  CHECK(store->release("jobs", theirs) == ReleaseResult::freed);
  CHECK(store->holds("db7").empty());
}

TEST_CASE("the holds of a process are its taken locks", "[store][R8]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord jobs = held(*store, "jobs");
  const LockRecord mail = held(*store, "mail");
  const LockRecord done = held(*store, "done");
  REQUIRE(store->release("done", *done.ts) == ReleaseResult::freed);
  claimed(*store, "other", FromAbsent{}, claim_by(*store, "another"));

  auto holds = store->holds("holder");
  std::sort(holds.begin(), holds.end(),
            [](const auto& left, const auto& right) { return left.name < right.name; });
  REQUIRE(holds.size() == 2);
  CHECK(holds[0].name == "jobs");
  CHECK(holds[0].ts == *jobs.ts);
  CHECK(holds[1].name == "mail");
  CHECK(holds[1].ts == *mail.ts);
  CHECK(store->holds("nobody").empty());
}
