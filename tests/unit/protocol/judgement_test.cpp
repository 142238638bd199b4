#include <catch2/catch.hpp>

#include "scene.h"

using namespace distlock;
using namespace distlock::protocol;
using namespace std::chrono_literals;

TEST_CASE("no document and a free one may be claimed", "[protocol][R2]") {
  Scene scene;
  scene.seen.lock->state = LockState::free;
  CHECK(scene.judged().verdict == Verdict::free);
  scene.seen.lock.reset();
  CHECK(scene.judged().verdict == Verdict::absent);
}

TEST_CASE("a holder is dead from exactly the window on", "[protocol][R6]") {
  Scene scene;
  CHECK(scene.silent_for(kWindow - 1ms).judged().reason == Reason::pinged_recently);
  CHECK(scene.silent_for(kWindow - 1ms).judged().until_takeover == 1ms);
  CHECK(scene.silent_for(kWindow).judged().verdict == Verdict::dead);
}

TEST_CASE("fifteen takeover minutes are the original's whole-minute comparison", "[protocol][R6]") {
  const LockOptions options = LockOptions::taking_over_after_minutes(15);
  CHECK(options.takeover_after == 16min);
  CHECK(LockOptions{}.takeover_after == options.takeover_after);
  Scene scene;
  scene.options = options;
  CHECK(scene.silent_for(15min + 59s + 999ms).judged().verdict == Verdict::busy);
  CHECK(scene.silent_for(16min).judged().verdict == Verdict::dead);
}

TEST_CASE("state 2 of MongoDB's own lock manager is taken, too", "[protocol][R14]") {
  Scene scene;
  scene.seen.lock->state = LockState::taken_by_mongodb;
  CHECK(scene.silent_for(1min).judged().verdict == Verdict::busy);
  CHECK(scene.silent_for(kWindow).judged().verdict == Verdict::dead);
}

TEST_CASE("the larger of the holder's and the contender's window counts", "[protocol][R6]") {
  Scene scene;
  scene.seen.lock->takeover_after = 20min;
  CHECK(scene.silent_for(20min - 1ms).judged().verdict == Verdict::busy);
  CHECK(scene.silent_for(20min).judged().verdict == Verdict::dead);
  scene.seen.lock->takeover_after = 1min;
  CHECK(scene.silent_for(kWindow - 1ms).judged().verdict == Verdict::busy);
  scene.seen.lock->takeover_after = std::chrono::milliseconds::max();
  CHECK(scene.silent_for(24h * 40000).judged().verdict == Verdict::busy);
}

TEST_CASE("a contender of short holds grants a holder that states no window another one",
          "[protocol][R6]") {
  Scene scene;
  scene.options = {.takeover_after = 1min, .unstated_window = 16min};
  CHECK(scene.silent_for(16min - 1ms).judged().verdict == Verdict::busy);
  CHECK(scene.silent_for(16min).judged().verdict == Verdict::dead);
  scene.seen.lock->takeover_after = 1min;
  CHECK(scene.silent_for(1min).judged().verdict == Verdict::dead);
  scene.options.takeover_after = 20min;
  scene.seen.lock->takeover_after.reset();
  CHECK(scene.silent_for(20min - 1ms).judged().verdict == Verdict::busy);
}

TEST_CASE("a ping later than now is a clock skew, however little", "[protocol][R4]") {
  Scene scene;
  const Judgement judgement = scene.silent_for(-1ms).judged();
  CHECK(judgement.reason == Reason::ping_in_future);
  CHECK(judgement.elapsed == 1ms);
  CHECK(scene.silent_for(0ms).judged().reason == Reason::pinged_recently);
}

TEST_CASE("dates beyond all sense do not overflow", "[protocol][R4]") {
  Scene scene;
  scene.seen.ping->ping = StoreTime::max();
  CHECK(scene.judged().reason == Reason::ping_in_future);
  scene.seen.ping->ping = StoreTime::min();
  CHECK(scene.judged().verdict == Verdict::dead);
  CHECK(scene.judged().impossible);
  scene.seen.ping->clock = "another";
  CHECK(scene.judged().verdict == Verdict::dead);
  scene.seen.ping->ping = StoreTime::max();
  CHECK(scene.judged().verdict == Verdict::busy);
}

TEST_CASE("more than a hundred years is warned of and judged all the same", "[protocol][R6]") {
  Scene scene;
  CHECK_FALSE(scene.silent_for(24h * 36525).judged().impossible);
  CHECK(scene.silent_for(24h * 36525 + 1ms).judged().impossible);
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("a missing ping is refused", "[protocol][R7]") {
  Scene scene;
  scene.seen.ping.reset();
  CHECK(scene.judged().reason == Reason::ping_missing);
  scene.pass(24h * 365);
  CHECK(scene.judged().reason == Reason::ping_missing);
}

TEST_CASE("on request a missing ping expires from when, watched or a day late", "[protocol][R7]") {
  Scene scene;
  scene.options.missing_ping = MissingPing::expire_from_when;
  scene.seen.ping.reset();
  scene.seen.lock->when = kNow - kWindow - 24h + 1ms;
  CHECK(scene.judged().verdict == Verdict::busy);
  scene.pass(1ms);
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("a ping by another clock is not judged by this one", "[protocol][R4][R6]") {
  Scene scene;
  scene.seen.ping->clock = "c2";
  CHECK(scene.silent_for(kWindow).judged().reason == Reason::other_clock);

  SECTION("but after a whole window of watching") {
    scene.pass(kWindow - 1ms);
    CHECK(scene.judged().verdict == Verdict::busy);
    scene.pass(1ms);
    CHECK(scene.judged().verdict == Verdict::dead);
  }
  SECTION("or when it is older by a day more") {
    CHECK(scene.silent_for(kWindow + 24h - 1ms).judged().verdict == Verdict::busy);
    CHECK(scene.silent_for(kWindow + 24h).judged().verdict == Verdict::dead);
  }
}

TEST_CASE("a ping by an unrelated clock is watched, never believed", "[protocol][R4][R6]") {
  Scene scene;
  scene.seen.now->unrelated = {"another boot/", "c"};
  SECTION("its ping's") { scene.seen.ping->clock = "c2"; }
  SECTION("or the one that stamped when, which nobody knows") {
    scene.options.missing_ping = MissingPing::expire_from_when;
    scene.seen.ping.reset();
    scene.seen.lock->when = kNow - 24h * 365;
  }
  if (scene.seen.ping) scene.silent_for(24h * 365);
  CHECK(scene.judged().reason == Reason::other_clock);
  CHECK(scene.judged().until_takeover == kWindow);
  scene.pass(kWindow - 1ms);
  CHECK(scene.judged().verdict == Verdict::busy);
  scene.pass(1ms);
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("a ping by a clock that has ended is dead by age, a day late", "[protocol][R4][R6]") {
  Scene scene;
  scene.seen.now->unrelated = {"this boot/", "container/"};
  scene.seen.ping->clock = "another boot/c1";
  CHECK(scene.silent_for(kWindow + 24h - 1ms).judged().verdict == Verdict::busy);
  CHECK(scene.silent_for(kWindow + 24h).judged().verdict == Verdict::dead);
}

TEST_CASE("a ping without a clock is judged by the original's rule", "[protocol][R4]") {
  Scene scene;
  scene.seen.ping->clock.reset();
  CHECK(scene.silent_for(kWindow - 1ms).judged().verdict == Verdict::busy);
  CHECK(scene.silent_for(kWindow).judged().verdict == Verdict::dead);
}

TEST_CASE("any sign of life restarts the watch", "[protocol][R6]") {
  Scene scene;
  scene.options.takeover_rule = TakeoverRule::watched;
  scene.silent_for(24h * 365);
  REQUIRE(scene.judged().reason == Reason::not_watched);
  scene.pass(kWindow - 1ms);
  REQUIRE(scene.judged().verdict == Verdict::busy);

  SECTION("a new ping") { scene.seen.ping->ping += 1ms; }
  SECTION("a ping set back") { scene.seen.ping->ping -= 1ms; }
  SECTION("the same time by another clock") { scene.seen.ping->clock = "c2"; }
  SECTION("a new acquisition") { scene.seen.lock->ts = Token{{2}}; }
  SECTION("a ping that went missing") {
    scene.options.missing_ping = MissingPing::expire_from_when;
    scene.seen.ping.reset();
  }

  scene.pass(1ms);
  CHECK(scene.judged().verdict == Verdict::busy);
  scene.pass(kWindow - 1ms);
  CHECK(scene.judged().verdict == Verdict::busy);
  scene.pass(1ms);
  CHECK(scene.judged().verdict == Verdict::dead);
}

// All holds of MongoDB's own lock manager may have one `ts` (R2).
TEST_CASE("a holder without a ping that takes the lock anew restarts the watch",
          "[protocol][R6][R7]") {
  Scene scene;
  scene.options.missing_ping = MissingPing::expire_from_when;
  scene.seen.ping.reset();
  scene.seen.lock->when = scene.seen.now->time;
  REQUIRE(scene.judged().verdict == Verdict::busy);
  scene.pass(kWindow / 2);
  scene.seen.lock->when = scene.seen.now->time;
  REQUIRE(scene.judged().verdict == Verdict::busy);
  scene.pass(kWindow / 2);
  CHECK(scene.judged().verdict == Verdict::busy);
  scene.pass(kWindow / 2);
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("a ping that only repeats its time is no sign of life", "[protocol][R6]") {
  Scene scene;
  scene.options.takeover_rule = TakeoverRule::watched;
  scene.silent_for(1h);
  for (const auto minute : {0min, 5min, 10min, 15min}) {
    INFO(minute.count());
    const StoreTime repeated = scene.seen.ping->ping;
    REQUIRE(scene.judged().verdict == Verdict::busy);
    scene.pass(5min);
    scene.seen.ping = PingRecord{"db7", repeated, "c1"};
  }
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("watching counts from the first answer to the last question", "[protocol][R6]") {
  Scene scene;
  scene.options.takeover_rule = TakeoverRule::watched;
  scene.span.received = scene.span.sent + 5s;
  REQUIRE(scene.judged().verdict == Verdict::busy);
  scene.pass(kWindow);
  CHECK(scene.judged().verdict == Verdict::busy);
  scene.pass(5s);
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("a store's clock far from the wall clock refuses takeover", "[protocol][R5]") {
  Scene scene;
  scene.silent_for(24h);
  const auto direction = GENERATE(1, -1);
  scene.span.wall_sent += direction * 30s;
  scene.span.wall_received += direction * 30s;
  CHECK(scene.judged().verdict == Verdict::dead);
  scene.span.wall_sent += direction * 1ms;
  scene.span.wall_received += direction * 1ms;
  CHECK(scene.judged().reason == Reason::wall_clock_skew);
  CHECK(scene.judged().elapsed == 30s + 1ms);
}

TEST_CASE("a slow answer is not mistaken for a skew", "[protocol][R5]") {
  Scene scene;
  scene.silent_for(24h);
  scene.span.wall_sent -= 50s;
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("a clock that cannot step is not held against the wall clock", "[protocol][R5]") {
  Scene scene;
  scene.silent_for(24h);
  scene.span.wall_sent += 1h;
  scene.span.wall_received += 1h;
  scene.seen.now->steady = true;
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("a store's clock that was seen to step refuses takeover", "[protocol][R5]") {
  Scene scene;
  scene.silent_for(24h);
  scene.stepped = true;
  CHECK(scene.judged().reason == Reason::clock_stepped);
  scene.options.takeover_rule = TakeoverRule::watched;
  REQUIRE(scene.judged().reason == Reason::not_watched);
  scene.pass(kWindow);
  CHECK(scene.judged().verdict == Verdict::dead);
}

TEST_CASE("the skew that a contender tolerates is that of the larger window",
          "[protocol][R5][R6]") {
  Scene scene;
  scene.options.takeover_after = 1min;
  scene.seen.lock->takeover_after = kWindow;
  scene.silent_for(kWindow);
  scene.span.wall_sent += 30s;
  scene.span.wall_received += 30s;
  CHECK(scene.judged().verdict == Verdict::dead);
  scene.span.wall_sent += 1ms;
  scene.span.wall_received += 1ms;
  CHECK(scene.judged().reason == Reason::wall_clock_skew);
}
