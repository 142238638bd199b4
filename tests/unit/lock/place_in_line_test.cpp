// The place of a wait in the line of the store, and the calls of a wait (R15, R17, R18).
#include <catch2/catch.hpp>
#include <functional>
#include <stdexcept>

#include "distlock/error.h"
#include "support/captured_log.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/stopping_clock.h"
#include "support/thrown.h"
#include "unit/lock/in_line.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a place is not given up at the deadline of its wait, but at the next ping round",
          "[waiting][R15][R17]") {
  InLine one;
  const auto held = one.held_by("b");
  one.outlast(1min, [] { throw std::logic_error("enough"); });
  CHECK_THROWS_AS(one.lock->try_lock_for(1min), std::logic_error);
  one.check_given_up_by_round();
}

TEST_CASE("a place that its wait had no time to give up is given up at once",
          "[waiting][R15][R17]") {
  InLine one;
  const auto held = one.held_by("b");
  one.outlast_a_wait();
  CHECK(one.places() == 1);
  one.a.pinger->ring_round();
  CHECK(one.places() == 0);
  CHECK(one.a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a place is not given up once the program has outlasted its wait, but at the next round",
          "[waiting][R15][R17]") {
  InLine one;
  const auto held = one.held_by("b");
  one.outlast_a_wait();
  one.check_given_up_by_round();
}

TEST_CASE("a store that fails is not asked to remove a place", "[waiting][R15][R17]") {
  const auto patience = GENERATE(0ms, 60000ms);
  InLine one({.store_patience = patience});
  const auto held = one.held_by("b");
  one.a.store->before("inspect", [&] {
    one.a.store->fail("inspect", Fault::rejected, 1000);
    one.a.store->fail("stand", Fault::rejected, 1000);
  });
  CHECK(thrown_by([&] { return one.lock->try_lock_for(5s); }) == Errc::not_applied);
  CHECK(one.places() == 1);
  CHECK(one.a.store->calls("leave") == 0);
  one.a.pinger->ping_round();
  CHECK(one.places() == 0);
}

TEST_CASE("a place that the store did not give is not given up", "[waiting][R8][R17]") {
  InLine one({.store_patience = 0ms});
  const auto held = one.held_by("b");
  const Errc failure = GENERATE(Errc::not_applied, Errc::permission_denied);
  one.a.store->before("stand", [&] { throw Error(failure, "not now"); });
  CHECK(thrown_by([&] { return one.lock->try_lock_for(5s); }) == failure);
  CHECK(one.a.store->calls("stand") == 1);
  one.a.pinger->ping_round();
  CHECK(one.a.store->calls("leave") == 0);
  CHECK(one.a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a place that could not be given up is logged", "[waiting][R17][log]") {
  InLine one;
  const auto held = one.held_by("b");
  one.a.store->fail("leave", Fault::rejected);
  Captured log;
  CHECK_FALSE(one.lock->try_lock_for(5s));
  CHECK(log.count(severity_level::debug, "leave rejected by the test") == 1);
}

TEST_CASE("a wait that is stopped before it stands in line gives no place up",
          "[waiting][R15][R17]") {
  InLine one;
  std::stop_source stop;
  one.a.store->before("ping", [&] { stop.request_stop(); });
  CHECK_FALSE(one.lock->lock(stop.get_token()));
  one.a.pinger->ping_round();
  CHECK(one.a.store->calls("stand") == 0);
  CHECK(one.a.store->calls("leave") == 0);
}

TEST_CASE("a wait that is stopped while its first claim is refused is not held",
          "[waiting][R1][R15]") {
  InLine one;
  make_known_free(*one.lock);
  const auto held = one.held_by("b");
  std::stop_source stop;
  one.a.store->before("claim", [&] { stop.request_stop(); });
  CHECK_FALSE(one.lock->lock(stop.get_token()));
  CHECK_FALSE(one.lock->held());
  CHECK(one.a.store->calls("stand") == 0);
}

TEST_CASE("a wait in line that fails soon asks again soon, however often it failed before",
          "[waiting][R15]") {
  InLine one;
  const auto held = one.held_by("b");
  int looks = 0;
  std::optional<SteadyTime> failed;
  std::optional<std::chrono::nanoseconds> pause;
  one.a.store->during_each_call([&](const std::string& call) {
    const SteadyTime now = one.fleet.clock->steady_now();
    if (failed && !pause) pause = now - *failed;
    if (call != "inspect") return;
    ++looks;
    if (looks == 1) one.a.store->fail("inspect", Fault::rejected, 8);
    if (looks == 12) {
      one.a.store->fail("inspect", Fault::rejected);
      failed = now;
    }
  });
  CHECK_FALSE(one.lock->try_lock_for(1min));
  one.a.store->during_each_call({});  // The pinger's end is a call, too.
  REQUIRE(pause);
  CHECK(*pause <= 20ms);
}

TEST_CASE("a takeover that fails leaves no place in line", "[waiting][R6][R17]") {
  InLine one;
  const auto dead = one.held_by("dead");
  one.a.store->fail("claim", Fault::rejected);
  REQUIRE(one.lock->try_lock_for(1h));
  CHECK(one.a.store->calls("claim") == 2);
  CHECK(one.places() == 0);
}

TEST_CASE("a takeover of unknown outcome leaves no place in line", "[waiting][R8][R17]") {
  InLine one;
  const auto dead = one.held_by("dead");
  one.a.store->fail("claim", Fault::lost_request);
  REQUIRE(one.lock->try_lock_for(1h));
  CHECK(one.places() == 0);
}

TEST_CASE("a wait claims the thread's own hold anew that ran out, and stands in no line",
          "[waiting][R9][R17]") {
  InLine one;
  REQUIRE(one.lock->lock_try("runs out"));
  one.fleet.clock->advance(16min);
  REQUIRE(one.lock->try_lock_for(1min));
  CHECK(one.a.store->calls("claim") == 2);
  CHECK(one.a.store->calls("stand") == 0);
  CHECK(one.lock->fence() == 2);
}

TEST_CASE(
    "a place whose first request was refused leaves nothing pending, and one that was lost does",
    "[waiting][R8][R18]") {
  InLine one;
  const bool lost = GENERATE(true, false);
  if (lost) one.a.store->fail("stand", Fault::lost_request);
  one.a.store->fail("stand", Fault::rejected);
  REQUIRE(one.lock->try_lock_for(1min));
  REQUIRE(one.lock->unlock() == UnlockResult::released);
  CHECK(one.a.pinger->stats().pending_releases == (lost ? 1 : 0));
}

TEST_CASE("a waiter behind a place that nobody comes to claims a turn after the release",
          "[waiting][R17]") {
  InLine one;
  const auto held = one.held_by("b");
  REQUIRE(one.fleet.store->line()->stand("jobs", one.fleet.claim_by("gone", Token{{7}})).in_line);
  REQUIRE(held->unlock() == UnlockResult::released);
  REQUIRE(one.lock->try_lock_for(1min));
  CHECK(one.fleet.clock->waited() == 100ms);
}

TEST_CASE("a wait in line that is shorter than a pause gets what is released meanwhile",
          "[waiting][R15][R17]") {
  InLine one;
  const auto held = one.held_by("b");
  one.a.store->after("stand", [&] { held->unlock(); });
  CHECK(one.lock->try_lock_for(4ms));
}

TEST_CASE("a wait for a lock with a short window looks in time to foretell a takeover",
          "[waiting][R6][R17]") {
  Fleet fleet;
  fleet.store = make_memory_store(fleet.clock, {.call_limit = 10ms});
  const auto pinging = PingerOptions::fitting(1600ms);
  const auto a = fleet.process("a", pinging);
  a.store->has_line = true;
  const auto held = fleet.process("b", pinging).lock("jobs", {.takeover_after = 1600ms});
  REQUIRE(held->lock_try("work"));
  const auto lock = a.lock("jobs", {.takeover_after = 1600ms});
  const SteadyTime begun = fleet.clock->steady_now();
  std::optional<SteadyTime> looked;
  a.store->before("inspect", [&] { looked = fleet.clock->steady_now(); });
  CHECK_FALSE(lock->try_lock_for(1s));
  CHECK(looked == begun + 100ms);
}

TEST_CASE("a ticket that follows one which was freed has its deadline from its own request",
          "[waiting][R9][R18]") {
  InLine one({.store_patience = 1h});
  one.a.store->fail("stand", Fault::lost_reply);
  one.a.store->after_lost_reply = [&] {
    one.fleet.store->release("jobs", *one.fleet.stored("jobs").ts);
    one.fleet.clock->advance(16min);
  };
  REQUIRE(one.lock->try_lock_for(1h));
  CHECK(one.lock->fence() == 2);
  CHECK(one.a.store->calls("release") == 0);
}

TEST_CASE("a wait whose late hold could not be freed goes on with another ticket",
          "[waiting][R9][R18]") {
  InLine one;
  const auto held = one.held_by("b");
  FaultyStore& store = *one.a.store;
  store.before("inspect", [&] {
    REQUIRE(held->unlock() == UnlockResult::released);
    store.after("stand", [&] {
      one.fleet.clock->advance(16min);
      store.fail("release", Fault::rejected, 3);
      store.after("stand", [&] { one.a.pinger->ping_round(); });
    });
  });
  REQUIRE(one.lock->try_lock_for(1h));
  CHECK(one.lock->held());
  one.a.pinger->ping_round();
  CHECK(one.fleet.stored("jobs").ts == one.lock->record().ts);
  CHECK(one.fleet.stored("jobs").taken());
}

TEST_CASE("a grant that comes after the deadline of its wait is given back at once",
          "[waiting][R9][R15]") {
  InLine one;
  one.a.store->after("stand", [&] { one.fleet.clock->advance(20min); });
  CHECK_FALSE(one.lock->try_lock_for(10min));
  CHECK(one.a.store->calls("stand") == 1);
  CHECK_FALSE(one.fleet.stored("jobs").taken());
  CHECK(one.a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a stop ends the last rest of a wait in line", "[waiting][R15][R17]") {
  Fleet fleet;
  const auto clock = stopping_clock_of(fleet);
  const auto held = fleet.process("b").lock("jobs");
  REQUIRE(held->lock_try("work"));
  const auto a = fleet.process("a");
  a.store->has_line = true;
  // It rests for the last quarter of its time.
  const auto lock = a.lock("jobs", {.poll_min = 1h, .poll_max = 1h});
  clock->from = clock->steady_now() + 4s;
  CHECK_FALSE(lock->try_lock_for(4s, clock->stop.get_token()));
  CHECK(clock->stop.stop_requested());
  CHECK(clock->waited() <= 3s);
}

TEST_CASE("a wait that claims from its own release states its reason", "[waiting][R14][R15]") {
  InLine one({.why = "by default"});
  make_known_free(*one.lock);
  REQUIRE(one.lock->try_lock_for(1min, {}, "in its turn"));
  CHECK(one.a.store->calls("stand") == 0);
  CHECK(one.fleet.stored("jobs").why == "in its turn");
}
