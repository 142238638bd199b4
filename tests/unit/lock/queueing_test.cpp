// Waiting behind other threads of the process (R20).
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A process that stands in line, and its lock "jobs", held by the thread of the test.
struct HeldObject {
  explicit HeldObject(const LockOptions& options = {}) {
    a.store->has_line = true;
    lock = a.lock("jobs", options);
    REQUIRE(lock->lock_try("x"));
  }

  /// Whether another thread gets it within that time.
  bool is_had_within(std::chrono::milliseconds time) {
    bool got = true;
    boost::thread([&] { got = lock->try_lock_for(time); }).join();
    return got;
  }

  Fleet fleet;
  Process a = fleet.process("a");
  std::unique_ptr<DistributedLock> lock;
};

}  // namespace

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
  HeldObject held;
  CHECK_FALSE(held.is_had_within(1min));
  CHECK(held.fleet.clock->waited() == 1min);
  CHECK(held.lock->held());
  CHECK(held.a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a wait for an object whose hold runs out ends by its deadline", "[waiting][R15][R20]") {
  HeldObject held;
  CHECK_FALSE(held.is_had_within(1h));
  CHECK(held.fleet.clock->waited() == 1h);
}

TEST_CASE("a thread that waits behind another asks a store that fails at its pauses only",
          "[waiting][R15][R20]") {
  HeldObject held;
  FaultyStore& store = *held.a.store;
  bool told = false;
  held.lock->on_waiting([&](const WaitReport& report) { told = !report.failure.empty(); });
  store.forget_calls();
  store.fail("inspect", Fault::rejected, 1000);
  static_cast<void>(held.is_had_within(1min));
  CHECK(told);
  CHECK(store.calls("inspect") >= 2);
  CHECK(store.calls("inspect") <= 21);
}

TEST_CASE("a wait for an object that another thread holds learns the holder from the object",
          "[waiting][cost][R20]") {
  HeldObject held;
  held.a.store->forget_calls();
  LockRecord other;
  boost::thread([&] { (void)held.lock->try_lock_for(1s, {}, "y", &other); }).join();
  CHECK(other.ts == held.lock->record().ts);
  CHECK(held.a.store->calls("inspect") == 0);
}

TEST_CASE("a stop while a wait behind another is told lets it look for no deadlock",
          "[waiting][R15][R22]") {
  HeldObject held({.deadlock_after = 500ms});
  std::stop_source stop;
  held.lock->on_waiting([&](const WaitReport&) { stop.request_stop(); });
  bool got = true;
  boost::thread([&] { got = held.lock->lock(stop.get_token()); }).join();
  CHECK_FALSE(got);
  CHECK(held.a.store->calls("list_waits") == 0);
  CHECK(held.fleet.clock->waited() == 500ms);
}

namespace {

/// Each wait that is over already lets a second pass: so a wait without an end comes to its next
/// look.
struct RestlessClock : ManualClock {
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    if (until <= steady_now()) advance(1s);
    return ManualClock::wait_until(until, stop);
  }
};

}  // namespace

TEST_CASE(
    "a wait in line ends by its own deadline, though another thread tries its object meanwhile",
    "[waiting][R15][R20]") {
  Fleet fleet;
  fleet.clock = std::make_shared<RestlessClock>();
  fleet.store = make_memory_store(fleet.clock, {});
  const auto held = fleet.process("holder").lock("jobs");
  REQUIRE(held->lock_try("x"));
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  bool tried = true;
  a.store->before("stand",
                  [&] { boost::thread([&] { tried = lock->lock_try("meanwhile"); }).join(); });
  // A wait that goes on after its deadline gets the lock.
  const SteadyTime deadline = fleet.clock->steady_now() + 1min;
  a.store->during_each_call([&](const std::string&) {
    if (fleet.clock->steady_now() > deadline && held->held()) (void)held->unlock();
  });
  CHECK_FALSE(lock->try_lock_for(1min));
  a.store->during_each_call({});
  CHECK_FALSE(tried);
  CHECK(held->held());
}
