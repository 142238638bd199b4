// The place of a wait in the line of the store, and the calls of a wait (R15, R17, R18).
#include <catch2/catch.hpp>
#include <stdexcept>

#include "distlock/error.h"
#include "support/captured_log.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A lock of process "a", on a store with lines.
struct InLine {
  explicit InLine(const LockOptions& options = {}) : lock(a.lock("jobs", options)) {
    a.store->has_line = true;
  }
  std::unique_ptr<DistributedLock> held_by(const char* process) {
    auto other = fleet.process(process).lock("jobs");
    REQUIRE(other->lock_try("work"));
    return other;
  }
  std::size_t places() { return fleet.stored("jobs").line.size(); }

  Fleet fleet;
  distlock::testing::Process a = fleet.process("a");
  std::unique_ptr<DistributedLock> lock;
};

}  // namespace

TEST_CASE("a place is not given up at the deadline of its wait, but at the next ping round",
          "[waiting][R15][R17]") {
  InLine one;
  const auto held = one.held_by("b");
  const SteadyTime deadline = one.fleet.clock->steady_now() + 1min;
  one.lock->on_waiting([&](const WaitReport&) {
    one.fleet.clock->advance(deadline - one.fleet.clock->steady_now());
    throw std::logic_error("enough");
  });
  CHECK_THROWS_AS(one.lock->try_lock_for(1min), std::logic_error);
  CHECK(one.a.store->calls("leave") == 0);
  CHECK(one.places() == 1);
  one.a.pinger->ping_round();
  CHECK(one.places() == 0);
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

TEST_CASE("no look for a deadlock follows a stop, and none costs a ping where no cycle is seen",
          "[waiting][R15][R22]") {
  InLine one({.deadlock_after = 500ms});
  const auto held = one.held_by("b");
  std::stop_source stop;
  SECTION("stopped at the look before") {
    one.a.store->before("inspect", [&] { stop.request_stop(); });
    CHECK_FALSE(one.lock->lock(stop.get_token()));
    CHECK(one.a.store->calls("list") == 0);
  }
  SECTION("stopped later") {
    one.a.store->before("list", [&] { one.a.store->before("list", [&] { stop.request_stop(); }); });
    CHECK_FALSE(one.lock->lock(stop.get_token()));
    CHECK(one.a.store->calls("list") == 2);
    CHECK(one.a.store->calls("ping") == 1);
  }
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
