// Looks for deadlocks from a place in line (R22).
#include <catch2/catch.hpp>
#include <functional>
#include <stdexcept>

#include "distlock/error.h"
#include "support/captured_log.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"
#include "unit/lock/in_line.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("no look for a deadlock follows a stop, and none costs a ping where no cycle is seen",
          "[waiting][R15][R22]") {
  InLine one({.deadlock_after = 500ms});
  const auto held = one.held_by("b");
  std::stop_source stop;
  SECTION("stopped at the look before") {
    one.a.store->before("inspect", [&] { stop.request_stop(); });
    CHECK_FALSE(one.lock->lock(stop.get_token()));
    CHECK(one.a.store->calls("list_waits") == 0);
  }
  SECTION("stopped later") {
    one.a.store->before("list_waits",
                        [&] { one.a.store->before("list_waits", [&] { stop.request_stop(); }); });
    CHECK_FALSE(one.lock->lock(stop.get_token()));
    CHECK(one.a.store->calls("list_waits") == 2);
    CHECK(one.a.store->calls("ping") == 1);
  }
}

TEST_CASE("a thread in a cycle pings for the others to see, but not after a stop",
          "[waiting][deadlock][R15][R22]") {
  InLine one({.deadlock_after = 500ms});
  const auto mine = one.a.lock("mine");
  REQUIRE(mine->lock_try("x"));
  REQUIRE(one.fleet.store->claim("jobs", FromAbsent{}, one.fleet.claim_by("b", Token{{7}})));
  one.fleet.clock->advance(1s);
  REQUIRE(one.fleet.store->line()->stand("mine", one.fleet.claim_by("b", Token{{8}})).in_line);
  const bool at_once = GENERATE(true, false);
  std::stop_source stop;
  const auto end = [&] { stop.request_stop(); };
  one.a.store->before("list_waits", [&] {
    if (at_once) return end();
    one.a.store->before("list_waits", end);
  });
  CHECK_FALSE(one.lock->lock(stop.get_token()));
  CHECK(one.a.store->calls("ping") == (at_once ? 1 : 2));
}

TEST_CASE("by default a wait without a limit looks for a deadlock after five seconds",
          "[waiting][deadlock][R22]") {
  InLine one;
  const auto held = one.held_by("b");
  std::stop_source stop;
  const SteadyTime begun = one.fleet.clock->steady_now();
  std::optional<SteadyTime> looked;
  one.a.store->before("list_waits", [&] {
    looked = one.fleet.clock->steady_now();
    stop.request_stop();
  });
  CHECK_FALSE(one.lock->lock(stop.get_token()));
  CHECK(looked == begun + 5s);
}

TEST_CASE("a wait says in line whether it has a deadline", "[waiting][deadlock][R22]") {
  InLine one;
  const auto held = one.held_by("b");
  const bool for_ever = GENERATE(true, false);
  std::stop_source stop;
  std::string who;
  one.a.store->before("inspect", [&] {
    who = one.fleet.stored("jobs").line.front().who;
    stop.request_stop();
  });
  const bool got =
      for_ever ? one.lock->lock(stop.get_token()) : one.lock->try_lock_for(1h, stop.get_token());
  CHECK_FALSE(got);
  REQUIRE(who.starts_with("a:"));
  CHECK(who.ends_with('~') == !for_ever);
}
