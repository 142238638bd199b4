#include <catch2/catch.hpp>
#include <functional>

#include "distlock/distributed_lock.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// How long a wait bears a store that fails (R15).

TEST_CASE("a store that fails for too long ends the wait with its error", "[waiting][R15]") {
  Fleet fleet;
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  b.store->fail("inspect", Fault::rejected, 10000);

  SECTION("without a deadline after the patience") {
    CHECK(thrown_by([&] { return waiter->lock(); }) == Errc::not_applied);
    CHECK(fleet.clock->waited() >= 30s);
    CHECK(fleet.clock->waited() <= 32s);
  }
  SECTION("with one by the deadline") {
    CHECK(thrown_by([&] { return waiter->try_lock_for(5s); }) == Errc::not_applied);
    CHECK(fleet.clock->waited() == 5s);
  }
}

// Such a wait looks for deadlocks as well, by listings that answer nothing either.
TEST_CASE("a wait in line ends after its patience as well", "[waiting][R15][R22]") {
  Fleet fleet;
  const auto b = fleet.process("b");
  b.store->has_line = true;
  const auto patience = GENERATE(30s, 150s);
  const auto waiter = b.lock("balancer", {.store_patience = patience});
  b.pinger->ping_round();
  b.store->during_each_call(
      [](const std::string& call) { throw Error(Errc::not_applied, call + ": away"); });
  CHECK(thrown_by([&] { waiter->lock(); }) == Errc::not_applied);
  CHECK(fleet.clock->waited() >= patience);
  CHECK(fleet.clock->waited() <= patience + 15s);
}

TEST_CASE("patience counts from the first failure, however rare the looks are", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->has_line = GENERATE(true, false);
  const LockOptions options{
      .poll_min = 2min, .poll_max = 2min, .recheck = 2min, .deadlock_after = 0ms};
  const auto waiter = b.lock("balancer", options);
  int looks = 0;
  std::function<void()> count = [&] {
    ++looks;
    if (looks == 3) b.store->fail("inspect", Fault::rejected, 1);
    if (looks == 5) REQUIRE(held->unlock() == UnlockResult::released);
    b.store->before("inspect", count);
  };
  b.store->before("inspect", count);
  CHECK_NOTHROW(waiter->lock());
  CHECK(looks >= 5);
}

TEST_CASE("a wait ends at once where its store was replaced", "[waiting][R15]") {
  Fleet fleet;
  const auto b = fleet.process("b");
  b.store->has_line = GENERATE(true, false);
  const auto waiter = b.lock("balancer");
  b.pinger->ping_round();
  b.store->during_each_call(
      [](const std::string&) { throw Error(Errc::store_replaced, "another file is there"); });
  CHECK(thrown_by([&] { waiter->lock(); }) == Errc::store_replaced);
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("an answer of the store begins patience anew", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->has_line = GENERATE(true, false);
  const auto waiter = b.lock("balancer", {.deadlock_after = 0ms});
  int looks = 0;
  std::function<void()> count = [&] {
    ++looks;
    if (looks == 3 || looks == 100) b.store->fail("inspect", Fault::rejected, 5);
    if (looks == 110) REQUIRE(held->unlock() == UnlockResult::released);
    b.store->before("inspect", count);
  };
  b.store->before("inspect", count);
  CHECK_NOTHROW(waiter->lock());
  CHECK(fleet.clock->waited() > 60s);
}
