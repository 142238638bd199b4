// Waiting behind other threads of the process (R20).
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a wait in line with a reason that is too long calls no store", "[waiting][R14][R17]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  const auto wait = [&] { return lock->try_lock_for(1min, {}, "not \xff UTF-8"); };
  CHECK(thrown_by(wait) == Errc::invalid_argument);
  CHECK(a.store->calls() == 0);
}

TEST_CASE("a wait for an object that another thread holds ends by its deadline and takes nothing",
          "[waiting][R15][R20]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bool got = true;
  boost::thread([&] { got = lock->try_lock_for(1min); }).join();
  CHECK_FALSE(got);
  CHECK(fleet.clock->waited() == 1min);
  CHECK(lock->held());
  CHECK(a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a wait for an object whose hold runs out ends by its deadline", "[waiting][R15][R20]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bool got = true;
  boost::thread([&] { got = lock->try_lock_for(1h); }).join();
  CHECK_FALSE(got);
  CHECK(fleet.clock->waited() == 1h);
}

TEST_CASE("a thread that waits behind another asks a store that fails at its pauses only",
          "[waiting][R15][R20]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bool told = false;
  lock->on_waiting([&](const WaitReport& report) { told = !report.failure.empty(); });
  a.store->forget_calls();
  a.store->fail("inspect", Fault::rejected, 1000);
  boost::thread([&] { (void)lock->try_lock_for(1min); }).join();
  CHECK(told);
  CHECK(a.store->calls("inspect") >= 2);
  CHECK(a.store->calls("inspect") <= 21);
}

TEST_CASE("a stop while a wait behind another is told lets it look for no deadlock",
          "[waiting][R15][R22]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs", {.deadlock_after = 500ms});
  REQUIRE(lock->lock_try("x"));
  std::stop_source stop;
  lock->on_waiting([&](const WaitReport&) { stop.request_stop(); });
  bool got = true;
  boost::thread([&] { got = lock->lock(stop.get_token()); }).join();
  CHECK_FALSE(got);
  CHECK(a.store->calls("list") == 0);
  CHECK(fleet.clock->waited() == 500ms);
}
