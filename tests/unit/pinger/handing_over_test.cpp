#include <algorithm>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "pinger/holds.h"
#include "thread_number.h"

// A hold on its way from one lock object to another (R21).
using namespace distlock;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kNow{1h};

struct Handover {
  Handover() {
    holds.enlist(giver, ts);
    giver->claim_validity.begin(kNow);
    REQUIRE(holds.begin(*giver, ts, {}, kNow));
    holds.enlist(heir, ts);
  }
  bool knows() const {
    const auto known = holds.known();
    return std::find(known.begin(), known.end(), ts) != known.end();
  }

  const Token ts{{1}};
  Holds holds{AnnounceOn::caller};
  std::shared_ptr<Hold> giver = std::make_shared<Hold>("jobs", 1min);
  std::shared_ptr<Hold> heir = std::make_shared<Hold>("jobs", 1min);
};

}  // namespace

TEST_CASE("a hold has its deadline on the way, and no holder", "[pinger][R9][R21]") {
  Handover it;
  REQUIRE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow + 30s));
  CHECK(it.giver->validity.over(kNow + 30s));
  CHECK(it.heir->validity.over(kNow + 30s));
  CHECK(it.heir->claim_validity.until() == kNow + 1min);
  CHECK(it.knows());
  it.holds.delist(it.giver);
  CHECK(it.knows());
  it.holds.extend(kNow + 31s, kNow + 32s);
  REQUIRE(it.holds.begin(*it.heir, it.ts, {}, kNow + 40s));
  CHECK(it.heir->validity.until() == kNow + 91s);
}

TEST_CASE("a hold whose deadline has passed, or that was lost, does not go on",
          "[pinger][R9][R21]") {
  Handover it;
  SECTION("its deadline has passed") {
    CHECK_FALSE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow + 1min));
  }
  SECTION("it was lost") {
    it.holds.lose({it.giver, it.ts}, LossReason::freed);
    CHECK_FALSE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  }
  SECTION("it was given up") {
    it.holds.retire(it.giver, kNow);
    CHECK_FALSE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  }
  CHECK(it.heir->claim_validity.over(kNow));
}

TEST_CASE("a deadline that passes on the way is final", "[pinger][R9][R21]") {
  Handover it;
  REQUIRE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  it.holds.extend(kNow + 59s, kNow + 61s);
  CHECK_FALSE(it.holds.begin(*it.heir, it.ts, {}, kNow + 61s));
}

TEST_CASE("a loss finds a hold that has gone on since", "[pinger][R9][R21]") {
  Handover it;
  const ActiveHold listed = it.holds.active().front();
  REQUIRE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  SECTION("it has come to another object") {
    REQUIRE(it.holds.begin(*it.heir, it.ts, {}, kNow));
    it.holds.lose(listed, LossReason::freed);
    CHECK(it.holds.lost(*it.heir) == LossReason::freed);
    CHECK_FALSE(it.holds.lost(*it.giver));
    CHECK(it.heir->validity.over(kNow));
  }
  SECTION("it is on its way") {
    it.holds.lose(listed, LossReason::freed);
    CHECK_FALSE(it.holds.begin(*it.heir, it.ts, {}, kNow));
  }
}

TEST_CASE("a hold goes on by its own token, to an object that is enlisted with it",
          "[pinger][R21]") {
  Handover it;
  const Token another{{2}};
  SECTION("not to an object that claims another") {
    it.holds.enlist(it.heir, another);
    CHECK_FALSE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  }
  SECTION("not where the giver has another") {
    it.holds.enlist(it.heir, another);
    CHECK_FALSE(it.holds.hand_over(*it.giver, *it.heir, another, kNow));
  }
  CHECK_FALSE(it.giver->validity.over(kNow));
  CHECK(it.heir->claim_validity.over(kNow));
  CHECK(it.holds.active_count() == 1);
}

TEST_CASE("a hold on its way is no object's, and its giver forgets it", "[pinger][R8][R21]") {
  Handover it;
  REQUIRE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  CHECK(it.holds.active_count() == 0);
  REQUIRE(it.holds.begin(*it.heir, it.ts, {}, kNow));
  CHECK(it.holds.active_count() == 1);
  it.holds.delist(it.heir);
  it.holds.enlist(it.giver, Token{{2}});
  CHECK_FALSE(it.knows());
}

TEST_CASE("a hold is the thread's that has it validly", "[pinger][R21][R22]") {
  Handover it;
  CHECK(it.holds.thread_of(it.ts) == this_thread_number());
  CHECK_FALSE(it.holds.thread_of(Token{{2}}));
  REQUIRE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  CHECK_FALSE(it.holds.thread_of(it.ts));
  REQUIRE(it.holds.begin(*it.heir, it.ts, {}, kNow));
  CHECK(it.holds.thread_of(it.ts) == this_thread_number());
  it.holds.retire(it.heir, kNow);
  CHECK_FALSE(it.holds.thread_of(it.ts));
}

TEST_CASE("a thread's holds of a block are those that it has, and that were begun so",
          "[pinger][R21][R22]") {
  Handover it;
  CHECK(it.holds.blocks_of_this_thread().empty());
  REQUIRE(it.holds.hand_over(*it.giver, *it.heir, it.ts, kNow));
  REQUIRE(it.holds.begin(*it.heir, it.ts, {}, kNow, true));
  CHECK(it.holds.blocks_of_this_thread() == std::vector<Token>{it.ts});
  bool none_of_another = false;
  boost::thread([&] { none_of_another = it.holds.blocks_of_this_thread().empty(); }).join();
  CHECK(none_of_another);
  it.holds.retire(it.heir, kNow);
  CHECK(it.holds.blocks_of_this_thread().empty());
}

// MongoDB's own lock manager gives all holds of a shard one token.
TEST_CASE("a loss of one lock is none of another with the same token", "[pinger][R9]") {
  Handover it;
  const auto other = std::make_shared<Hold>("other", 1min);
  it.holds.enlist(other, it.ts);
  other->claim_validity.begin(kNow);
  REQUIRE(it.holds.begin(*other, it.ts, {}, kNow));
  it.holds.lose({other, it.ts}, LossReason::freed);
  CHECK(it.holds.lost(*other) == LossReason::freed);
  CHECK_FALSE(it.holds.lost(*it.giver));
  CHECK_FALSE(it.giver->validity.over(kNow));
}

TEST_CASE("a loss that finds nobody ends no other claim of that lock", "[pinger][R9][R21]") {
  Handover it;
  it.holds.enlist(it.heir, Token{{2}});
  it.heir->claim_validity.begin(kNow);
  it.holds.lose({it.giver, Token{{3}}}, LossReason::freed);
  CHECK_FALSE(it.giver->validity.over(kNow));
  CHECK_FALSE(it.heir->claim_validity.over(kNow));
}
