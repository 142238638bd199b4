#include <catch2/catch.hpp>

#include "scene.h"

using namespace distlock;
using namespace distlock::protocol;
using namespace std::chrono_literals;

TEST_CASE("a judgement says what was seen of the holder", "[protocol][R6]") {
  Scene scene;
  const Judgement busy = scene.silent_for(1min).judged();
  CHECK(busy.elapsed == 1min);
  CHECK(busy.until_takeover == kWindow - 1min);
  CHECK_FALSE(busy.impossible);
  const Judgement dead = scene.silent_for(kWindow).judged();
  CHECK(dead.reason == Reason::silent);
  CHECK(dead.elapsed == kWindow);
  CHECK(dead.until_takeover == 0ms);
  CHECK_FALSE(dead.impossible);
}

TEST_CASE("the age of a silent holder counts, or how long it was watched", "[protocol][R6]") {
  Scene scene;
  scene.seen.ping->clock = "c2";
  scene.silent_for(1min);
  REQUIRE(scene.judged().reason == Reason::other_clock);
  scene.pass(kWindow + 1h);
  CHECK(scene.judged().elapsed == kWindow + 1h + 1min);
  scene.seen.ping->ping = scene.seen.now->time + 1h;
  REQUIRE(scene.judged().reason == Reason::other_clock);
  scene.pass(kWindow + 2h);
  CHECK(scene.judged().elapsed == kWindow + 2h);
}

TEST_CASE("a watched holder is busy for the rest of the window", "[protocol][R6]") {
  Scene scene;
  SECTION("by the rule of watching") { scene.options.takeover_rule = TakeoverRule::watched; }
  SECTION("by another clock's ping") { scene.seen.ping->clock = "c2"; }
  CHECK(scene.judged().elapsed == 0ms);
  CHECK(scene.judged().until_takeover == kWindow);
  scene.pass(10min);
  CHECK(scene.judged().elapsed == 10min);
  CHECK(scene.judged().until_takeover == kWindow - 10min);
  scene.pass(6min);
  CHECK(scene.judged().verdict == Verdict::dead);
  CHECK(scene.judged().reason == Reason::silent);
}

TEST_CASE("a holder whose process has ended is dead, whatever ping and clocks say",
          "[protocol][R23]") {
  Scene scene;
  SECTION("a young ping") { scene.silent_for(1ms); }
  SECTION("a ping of the future") { scene.silent_for(-1h); }
  SECTION("another clock's ping") { scene.seen.ping->clock = "c2"; }
  SECTION("a clock that stepped") { scene.stepped = true; }
  SECTION("the rule of watching") { scene.options.takeover_rule = TakeoverRule::watched; }
  CHECK(scene.judged().verdict == Verdict::busy);
  scene.seen.ping->ended = true;
  CHECK(scene.judged().verdict == Verdict::dead);
  CHECK(scene.judged().reason == Reason::ended);
}

TEST_CASE("a refusal foretells no takeover", "[protocol][R5][R7]") {
  Scene scene;
  SECTION("for a missing ping") {
    scene.seen.ping.reset();
    CHECK(scene.judged().reason == Reason::ping_missing);
    CHECK(scene.judged().elapsed == 0ms);
  }
  SECTION("for a ping in the future") {
    scene.silent_for(-1ms);
    CHECK(scene.judged().reason == Reason::ping_in_future);
  }
  SECTION("for a clock that stepped") {
    scene.silent_for(24h);
    scene.stepped = true;
    CHECK(scene.judged().reason == Reason::clock_stepped);
    CHECK(scene.judged().elapsed == 24h);
  }
  CHECK(scene.judged().verdict == Verdict::busy);
  CHECK(scene.judged().until_takeover == 0ms);
  CHECK_FALSE(scene.judged().impossible);
}

TEST_CASE("a look that contains the store's time shows no skew at all", "[protocol][R5]") {
  Scene scene;
  scene.options.takeover_after = 15ms;
  REQUIRE(max_clock_skew(15ms, scene.options) == 0ms);
  scene.silent_for(15ms);
  CHECK(scene.judged().verdict == Verdict::dead);
  scene.span.wall_received += 1ms;
  scene.span.wall_sent += 1ms;
  CHECK(scene.judged().reason == Reason::wall_clock_skew);
}

TEST_CASE("a store's clock before 1970 does not overflow", "[protocol][R4]") {
  Scene scene;
  scene.seen.now->time = StoreTime{-1h};
  scene.seen.ping->ping = StoreTime::max();
  CHECK(scene.judged().reason == Reason::ping_in_future);
  CHECK(scene.judged().elapsed == milliseconds::max());
  scene.seen.ping->ping = StoreTime{-30min};
  CHECK(scene.judged().elapsed == 30min);
}

TEST_CASE("the longest window that a document can state does not overflow", "[protocol][R6]") {
  Scene scene;
  scene.seen.ping->clock = "c2";
  scene.seen.lock->takeover_after = milliseconds::max();
  CHECK(scene.silent_for(24h * 40000).judged().reason == Reason::other_clock);
}

TEST_CASE("a hold that counts nowhere is dead also where its holder has no ping",
          "[protocol][R7][M4][M6]") {
  Scene scene;
  scene.seen.ping.reset();
  REQUIRE(scene.judged().reason == Reason::ping_missing);
  SECTION("as no majority can carry it") { scene.seen.over = true; }
  SECTION("as its member has lost such holds") {
    scene.seen.lock->fence = 7;
    scene.seen.fence_of_lost = 7;
  }
  CHECK(scene.judged().verdict == Verdict::dead);
  CHECK(scene.judged().reason == Reason::not_counted);
}
