#include <catch2/catch.hpp>

#include "contract/contract.h"
#include "contract/in_line.h"
#include "turns.h"

// Whose turn it is in a line (R17).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A store takes that for freed right now: the request was on its way for so long.
constexpr auto kFreedIn = 9s;

// A free lock with so many in line that the last may not claim for some seconds.
struct LongLine {
  LongLine(StoreUnderTest& under_test, Store& store) {
    const StoreTime now = store.list().now.time;
    for (int i = 0; i < 900; ++i) waiters.push_back({new_token(), "p", "p:1:1", now, std::nullopt});
    const Document lock = with(free_lock("jobs"), "line", waiters);
    under_test.put_lock(with(lock, "freed_at", now + kFreedIn));
    last_may_claim = now + kFreedIn + line::opens_after(waiters.size() - 1);
  }

  std::vector<Waiter> waiters;
  StoreTime last_may_claim;
};

}  // namespace

TEST_CASE("nobody claims before the turn comes, in line or not", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  // A machine so slow that the turn comes meanwhile shows nothing.
  for (int attempt = 0;; ++attempt) {
    REQUIRE(attempt < 20);
    const LongLine line(*under_test, *store);
    const auto pushed_in = store->claim("jobs", FromFree{}, claim_by(*store, "a"));
    Claim last = claim_by(*store, "p");
    last.ts = line.waiters.back().ticket;
    const Standing standing = line_of(*store).stand("jobs", last);
    const auto lock = store->inspect("jobs", Freshness::fresh).lock;
    if (store->list().now.time >= line.last_may_claim) continue;
    CHECK_FALSE(pushed_in);
    CHECK_FALSE(standing.hold);
    CHECK(standing.in_line);
    CHECK(standing.free);
    CHECK(lock->state == LockState::free);
    CHECK(lock->line == line.waiters);
    return;
  }
}

TEST_CASE("a claim out of turn marks those in front, and a marked one may claim at once",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b", "c"});
  // Freed so long ago that every turn has come.
  Document freed = with(*under_test->raw_lock("jobs"), "state", std::int32_t{0});
  under_test->put_lock(with(freed, "freed_at", store->list().now.time - 10s));
  const Standing third = line_of(*store).stand("jobs", claims[2]);
  REQUIRE(third.hold);
  const auto lock = store->inspect("jobs", Freshness::fresh).lock;
  REQUIRE(lock->line.size() == 2);
  CHECK(lock->line[0].passed_over);
  CHECK(lock->line[1].passed_over);

  // It is there again: refused while the lock is held, and not marked any more.
  CHECK(line_of(*store).stand("jobs", claims[1]).in_line);
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->line[1].passed_over);
  const Freed next =
      line_of(*store).release_and_tell("jobs", *third.hold->ts, ReleaseRule::durable);
  CHECK(next.next == Processes{"a", "b"});
  CHECK(line_of(*store).stand("jobs", claims[1]).hold);
}

TEST_CASE("a waiter that was passed over and comes back keeps all that its place says",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreTime now = store->list().now.time;
  Waiter waiter{new_token(), "a", "a:1:1", now - 40s, now - 10s};
  under_test->put_lock(
      with(taken_lock("jobs", "holder", new_token()), "line", std::vector{waiter}));
  Claim claim = claim_by(*store, "a");
  claim.ts = waiter.ticket;
  REQUIRE(line_of(*store).stand("jobs", claim).in_line);
  waiter.passed_over.reset();
  CHECK(store->inspect("jobs", Freshness::fresh).lock->line == std::vector{waiter});
}

TEST_CASE("in a line of which two were passed over a turn is a third as long",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreTime now = store->list().now.time;
  std::vector<Waiter> line;
  for (int i = 0; i < 900; ++i) line.push_back({new_token(), "p", "p:1:1", now, std::nullopt});
  for (int i = 0; i < 2; ++i) line.push_back({new_token(), "gone", "gone:1:1", now, now});
  const Token last = line[899].ticket;
  const std::uint64_t place = line::place_of(Token{}, line);
  const auto free_for = line::opens_after(place, 3) + 50ms;
  REQUIRE(free_for < line::opens_after(place) - 300ms);
  under_test->put_lock(
      with(with(free_lock("jobs"), "line", line), "freed_at", store->list().now.time - free_for));
  if (GENERATE(true, false)) {
    Claim claim = claim_by(*store, "p");
    claim.ts = last;
    CHECK(line_of(*store).stand("jobs", claim).hold);
  } else {
    CHECK(store->claim("jobs", FromFree{}, claim_by(*store, "newcomer")));
  }
}

// By a clock that is another now, a mark may seem to be of the future.
TEST_CASE("a claim takes out of the line a mark that is more than a minute away, and no other",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreTime now = store->list().now.time;
  const std::vector<Waiter> line{{new_token(), "younger", "y:1:1", now - 2min, now - 50s},
                                 {new_token(), "older", "o:1:1", now - 2min, now - 70s},
                                 {new_token(), "future", "f:1:1", now - 2min, now + 2min}};
  under_test->put_lock(with(with(free_lock("jobs"), "line", line), "freed_at", now - 2min));
  REQUIRE(line_of(*store).stand("jobs", claim_by(*store, "third")).hold);
  // A machine that has stood still for so long shows nothing.
  if (store->list().now.time < now + 10s) CHECK(standing(*store, "jobs") == Processes{"younger"});
}

TEST_CASE("a claim from a free lock ends the place of its ticket and no other",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b", "c"});
  Document freed = with(*under_test->raw_lock("jobs"), "state", std::int32_t{0});
  under_test->put_lock(with(freed, "freed_at", store->list().now.time - 10s));
  Claim late = claims[1];
  late.cutoff.time = store->list().now.time - 1s;
  CHECK_FALSE(store->claim("jobs", FromFree{}, late));
  CHECK(standing(*store, "jobs") == Processes{"a", "b", "c"});
  REQUIRE(store->claim("jobs", FromFree{holder.ts}, claims[1]));
  REQUIRE(standing(*store, "jobs") == Processes{"a", "c"});
  const auto line = store->inspect("jobs", Freshness::fresh).lock->line;
  CHECK(line[0].passed_over);
  CHECK_FALSE(line[1].passed_over);
}

TEST_CASE("waiters that are gone leave the line by claims of newcomers alone",
          "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  line_up(*store, {"a", "b"});
  Document freed = with(*under_test->raw_lock("jobs"), "state", std::int32_t{0});
  under_test->put_lock(with(freed, "freed_at", store->list().now.time - 10s));
  const auto first = store->claim("jobs", FromFree{}, claim_by(*store, "x"));
  REQUIRE(first);
  auto line = store->inspect("jobs", Freshness::fresh).lock->line;
  REQUIRE(line.size() == 2);
  for (Waiter& waiter : line) {
    REQUIRE(waiter.passed_over);
    waiter.passed_over = *waiter.passed_over - 2min;
  }
  under_test->put_lock(with(*under_test->raw_lock("jobs"), "line", line));
  // Nobody waits for marked ones.
  REQUIRE(store->release("jobs", *first->ts) == ReleaseResult::freed);
  REQUIRE(store->claim("jobs", FromFree{}, claim_by(*store, "x")));
  CHECK(standing(*store, "jobs").empty());
}

TEST_CASE("a request that a release has overtaken does not push in", "[store][line][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b", "c"});
  // A store may read its clock for a request, and come to it after a later release.
  const auto freed_in = [&](std::chrono::milliseconds later) {
    const Document freed = with(*under_test->raw_lock("jobs"), "state", std::int32_t{0});
    under_test->put_lock(with(freed, "freed_at", store->list().now.time + later));
  };
  freed_in(5s);
  CHECK_FALSE(line_of(*store).stand("jobs", claims[2]).hold);
  CHECK_FALSE(line_of(*store).stand("jobs", claims[1]).hold);
  CHECK(line_of(*store).stand("jobs", claims[0]).hold);
  // The clock was set back: nobody waits until it has caught up.
  freed_in(1h);
  CHECK(line_of(*store).stand("jobs", claims[2]).hold);
}
