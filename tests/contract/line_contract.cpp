#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "contract/contract.h"
#include "contract/in_line.h"
#include "distlock/line.h"
#include "turns.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a contender that enters the line of a free lock holds it at once",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Claim first = claim_by(*store, "a");
  const Standing standing = line_of(*store).stand("jobs", first);
  REQUIRE(standing.hold);
  CHECK(standing.hold->ts == first.ts);
  CHECK(standing.hold->process == "a");
  CHECK(standing.hold->who == first.who);
  CHECK(standing.hold->why == first.why);
  CHECK(standing.hold->fence == 1);
  CHECK(standing.hold->takeover_after == first.takeover_after);
  CHECK(standing.hold->line.empty());
  CHECK(store->inspect("jobs", Freshness::fresh).lock->ts == first.ts);

  CHECK(store->release("jobs", first.ts) == ReleaseResult::freed);
  const auto again = line_of(*store).stand("jobs", claim_by(*store, "b"));
  REQUIRE(again.hold);
  CHECK(again.hold->fence == 2);
}

TEST_CASE("a line has the order of arrival", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b", "c"});
  const auto lock = store->inspect("jobs", Freshness::fresh).lock;
  REQUIRE(lock);
  REQUIRE(lock->line.size() == 3);
  CHECK(lock->ts == holder.ts);
  CHECK(lock->line[1].ticket == claims[1].ts);
  CHECK(lock->line[1].who == claims[1].who);
  CHECK_FALSE(lock->line[1].passed_over);
  CHECK(lock->line[1].since <= store->list().now.time);
  CHECK(standing(*store, "jobs") == Processes{"a", "b", "c"});
}

TEST_CASE("a listing shows the line that a look shows", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  REQUIRE(line_of(*store).stand("jobs", claim_by(*store, "holder")).hold);
  line_up(*store, {"a", "b"});
  const Listing listing = store->list();
  REQUIRE(listing.locks.size() == 1);
  REQUIRE(listing.locks.front().record);
  CHECK(listing.locks.front().record->line.size() == 2);
  CHECK(listing.locks.front().record->line == store->inspect("jobs", Freshness::fresh).lock->line);
}

TEST_CASE("standing in line again changes nothing", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b"});
  CHECK(line_of(*store).stand("jobs", claims[0]).in_line);
  CHECK(standing(*store, "jobs") == Processes{"a", "b"});
}

TEST_CASE("a holder that enters the line again keeps its hold", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Claim claim = claim_by(*store, "a");
  REQUIRE(line_of(*store).stand("jobs", claim).hold);
  const Standing again = line_of(*store).stand("jobs", claim);
  REQUIRE(again.hold);
  CHECK(again.hold->fence == 1);
  CHECK(standing(*store, "jobs").empty());
}

TEST_CASE("a ticket whose hold was released gets neither the lock nor a place once more",
          "[store][line][R18]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Claim claim = claim_by(*store, "a");
  REQUIRE(line_of(*store).stand("jobs", claim).hold);
  REQUIRE(store->release("jobs", claim.ts) == ReleaseResult::freed);
  const Standing again = line_of(*store).stand("jobs", claim);
  CHECK_FALSE(again.hold);
  CHECK_FALSE(again.in_line);
  CHECK(standing(*store, "jobs").empty());
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->taken());
}

TEST_CASE("a freed lock goes to the first in line, and the claim ends its place",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b", "c"});
  const Freed freed = line_of(*store).release_and_tell("jobs", *holder.ts, ReleaseRule::durable);
  CHECK(freed.result == ReleaseResult::freed);
  CHECK(freed.next == Processes{"a"});
  CHECK(freed.then == "b");
  const Standing first = line_of(*store).stand("jobs", claims[0]);
  REQUIRE(first.hold);
  CHECK(first.hold->fence == 2);
  CHECK(standing(*store, "jobs") == Processes{"b", "c"});
}

TEST_CASE("a place that is left is gone, and the others keep theirs", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b", "c"});
  line_of(*store).leave("jobs", claims[1].ts);
  line_of(*store).leave("jobs", claims[1].ts);
  line_of(*store).leave("nosuch", claims[1].ts);
  CHECK(standing(*store, "jobs") == Processes{"a", "c"});
}

TEST_CASE("a place that was passed over is left like any other", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b"});
  const Document freed = with(*under_test->raw_lock("jobs"), "state", std::int32_t{0});
  under_test->put_lock(with(freed, "freed_at", store->list().now.time - std::chrono::seconds{10}));
  REQUIRE(line_of(*store).stand("jobs", claim_by(*store, "c")).hold);
  REQUIRE(standing(*store, "jobs") == Processes{"a", "b"});
  line_of(*store).leave("jobs", claims[0].ts);
  CHECK(standing(*store, "jobs") == Processes{"b"});
}

TEST_CASE("a takeover ends the place of its ticket and no other", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b"});
  REQUIRE(store->claim("jobs", FromHold{*holder.ts, holder.when}, claims[1]));
  CHECK(standing(*store, "jobs") == Processes{"a"});
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->line[0].passed_over);
}

TEST_CASE("past its cutoff nobody enters a line or claims from it", "[store][line][R8]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a"});
  Claim late = claim_by(*store, "b");
  // Another clock cannot tell that it has not passed.
  if (GENERATE(true, false)) {
    late.cutoff.clock = "another";
  } else {
    late.cutoff.time = store->list().now.time - 1s;
  }
  const Standing refused = line_of(*store).stand("jobs", late);
  CHECK_FALSE(refused.hold);
  CHECK_FALSE(refused.in_line);
  store->release("jobs", *holder.ts);
  Claim first = claims[0];
  first.cutoff = late.cutoff;
  CHECK_FALSE(line_of(*store).stand("jobs", first).hold);
  CHECK(standing(*store, "jobs") == Processes{"a"});
}

TEST_CASE("of eight who enter one line at once one holds and seven stand", "[store][line][R18]") {
  const auto under_test = make_store_under_test();
  std::atomic<int> holds = 0;
  std::atomic<int> in_line = 0;
  boost::barrier start(8);
  boost::thread_group threads;
  for (int i = 0; i < 8; ++i) {
    const std::shared_ptr<Store> store = under_test->open();
    const Claim claim = claim_by(*store, "p" + std::to_string(i));
    Line& line = line_of(*store);
    threads.create_thread([&, store, claim] {
      start.wait();
      const Standing standing = line.stand("jobs", claim);
      holds += standing.hold ? 1 : 0;
      in_line += standing.in_line ? 1 : 0;
    });
  }
  threads.join_all();
  CHECK(holds == 1);
  CHECK(in_line == 7);
  CHECK(standing(*under_test->open(), "jobs").size() == 7);
}

TEST_CASE("a release keeps the line, and one that frees nothing is no turn", "[store][line][R3]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  line_up(*store, {"a"});
  CHECK(line_of(*store).release_and_tell("jobs", new_token(), ReleaseRule::durable).result ==
        ReleaseResult::not_ours);
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->freed_at);
  CHECK(line_of(*store).release_and_tell("jobs", *holder.ts, ReleaseRule::durable).result ==
        ReleaseResult::freed);
  const auto freed_at = store->inspect("jobs", Freshness::fresh).lock->freed_at;
  REQUIRE(freed_at);
  CHECK(*freed_at >= holder.when);
  CHECK(line_of(*store).release_and_tell("jobs", *holder.ts, ReleaseRule::durable).result ==
        ReleaseResult::already_free);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->freed_at == freed_at);
  CHECK(standing(*store, "jobs") == Processes{"a"});
}

TEST_CASE("a hold from the line gives the record that another process reads",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  const bool waits = GENERATE(true, false);
  const Claim claim = claim_by(*store, "next");
  if (waits) REQUIRE(line_of(*store).stand("jobs", claim).in_line);
  REQUIRE(store->release("jobs", *holder.ts) == ReleaseResult::freed);
  const Standing standing = line_of(*store).stand("jobs", claim);
  REQUIRE(standing.hold);
  check_shown(*under_test->open(), *standing.hold);
}

TEST_CASE("a line that all have left leaves nothing in its lock", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const auto before = under_test->raw_lock("jobs");
  for (const char* const process : {"a", "b"}) {
    const Claim claim = claim_by(*store, process);
    REQUIRE(line_of(*store).stand("jobs", claim).in_line);
    line_of(*store).leave("jobs", claim.ts);
  }
  CHECK(under_test->raw_lock("jobs") == before);
}

TEST_CASE("a line that is full takes nobody in", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  std::vector<Waiter> line;
  const StoreTime now = store->list().now.time;
  for (std::size_t i = 0; i < line::kPlacesMost; ++i) {
    line.push_back({new_token(), "p", "p:1:1", now, std::nullopt});
  }
  under_test->put_ping(ping_document("p", now));
  under_test->put_lock(with(taken_lock("jobs", "p", new_token()), "line", line));
  const Standing standing = line_of(*store).stand("jobs", claim_by(*store, "a"));
  CHECK_FALSE(standing.hold);
  CHECK_FALSE(standing.in_line);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->line.size() == line::kPlacesMost);
}
