#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "distlock/distributed_lock.h"
#include "support/crowd.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// "b" waits for what "a" holds; `at_look` is told before each look of b's, from 1 on.
class WaitForAnother {
 public:
  WaitForAnother(const LockOptions& options, std::function<void(WaitForAnother&, int)> at_look)
      : at_look_(std::move(at_look)) {
    REQUIRE(held->lock_try("x"));
    b.store->has_line = GENERATE(true, false);
    waiter = b.lock("balancer", options);
    arm();
  }

  Fleet fleet;
  decltype(fleet.process("a").lock("balancer")) held = fleet.process("a").lock("balancer");
  decltype(fleet.process("b")) b = fleet.process("b");
  decltype(b.lock("balancer")) waiter;
  int looks = 0;

 private:
  void arm() {
    b.store->before("inspect", [this] {
      at_look_(*this, ++looks);
      arm();
    });
  }

  std::function<void(WaitForAnother&, int)> at_look_;
};

void go_away(FaultyStore& store) {
  store.during_each_call(
      [](const std::string& call) { throw Error(Errc::not_applied, call + ": away"); });
}

}  // namespace

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
  go_away(*b.store);
  CHECK(thrown_by([&] { waiter->lock(); }) == Errc::not_applied);
  CHECK(fleet.clock->waited() >= patience);
  CHECK(fleet.clock->waited() <= patience + 15s);
}

TEST_CASE("a look for a deadlock between two failures is no answer of the store",
          "[waiting][R15][R22]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->has_line = true;
  b.store->fail("inspect", Fault::rejected, 10000);
  const auto waiter = b.lock("balancer", {.deadlock_after = 100ms});
  CHECK(thrown_by([&] { waiter->lock(); }) == Errc::not_applied);
  CHECK(fleet.clock->waited() >= 30s);
  CHECK(fleet.clock->waited() <= 32s);
}

TEST_CASE("a thread behind another is as patient with the store as it would be alone",
          "[waiting][R15][R20][threads]") {
  LockOptions options = patient_options();
  options.recheck = 1s;
  LockOptions of_first = options;
  options.store_patience = GENERATE(30s, 40s);
  const bool first_waits_on = GENERATE(false, true);
  if (first_waits_on) of_first.store_patience = std::chrono::milliseconds::max();
  Crowd crowd;
  DistributedLock held(crowd.pinger, "jobs", options);
  REQUIRE(held.lock_try("x"));
  Candidate first(crowd, of_first);
  Candidate second(crowd, options);
  go_away(*crowd.store);
  const SteadyTime away_since = crowd.clock->steady_now();
  while (!second.has_it()) {
    crowd.clock->advance(500ms);
    comes_to_be([&] { return first.rests(*crowd.clock) && second.rests(*crowd.clock); });
  }
  CHECK(thrown_by([&] { second.hold(); }) == Errc::not_applied);
  CHECK(crowd.clock->steady_now() - away_since >= options.store_patience - 1s);
  CHECK(crowd.clock->steady_now() - away_since <= options.store_patience + 4s);
  CHECK(first.has_it() == !first_waits_on);
  crowd.store->during_each_call({});
}

TEST_CASE("a thread behind another waits on while that one pauses after a failure",
          "[waiting][R15][R20][threads]") {
  LockOptions looking = patient_options();
  looking.recheck = 1s;
  LockOptions pausing = looking;
  pausing.poll_min = pausing.poll_max = 5min;
  Crowd crowd;
  DistributedLock held(crowd.pinger, "jobs", patient_options());
  REQUIRE(held.lock_try("x"));
  Candidate first(crowd, pausing);
  Candidate second(crowd, looking);
  comes_to_be([&] { return first.rests(*crowd.clock) && second.rests(*crowd.clock); });
  crowd.store->fail("inspect", Fault::rejected);
  const int before = crowd.store->calls("inspect");
  for (int i = 0; i < 60; ++i) {
    crowd.clock->advance(1s);
    comes_to_be([&] { return first.rests(*crowd.clock) && second.rests(*crowd.clock); });
  }
  CHECK(crowd.store->calls("inspect") == before + 1);
  CHECK_FALSE(second.has_it());
}

TEST_CASE("a thread whose process got the lock after a failure of the store waits on",
          "[waiting][R15][R20][threads]") {
  Crowd crowd;
  DistributedLock held(crowd.pinger, "jobs", patient_options());
  REQUIRE(held.lock_try("x"));
  Candidate first(crowd);
  LockOptions impatient = patient_options();
  impatient.store_patience = 1ms;
  Candidate second(crowd, impatient);
  crowd.store->fail("stand", Fault::rejected);
  REQUIRE(held.unlock() == UnlockResult::released);
  comes_to_be([&] {
    crowd.clock->advance(500ms);
    return first.has_it();
  });
  CHECK_NOTHROW(first.hold());
  crowd.clock->advance(1s);
  CHECK_NOTHROW(crowd.wait_for_line(1));
  CHECK_FALSE(second.has_it());
}

TEST_CASE("a thread whose object is not free forgets what the store did to the one before it",
          "[waiting][R15][R20][threads]") {
  Crowd crowd;
  DistributedLock held(crowd.pinger, "jobs", patient_options());
  REQUIRE(held.lock_try("x"));
  LockOptions looking = patient_options();
  looking.recheck = 1s;
  std::optional<Candidate> first(std::in_place, crowd, looking);
  const auto tried = std::make_shared<DistributedLock>(crowd.pinger, "jobs", looking);
  Candidate second(crowd, tried);
  // Else a look of the first might be kept in place of that of the try.
  comes_to_be([&] { return first->rests(*crowd.clock) && second.rests(*crowd.clock); });
  KeptTry trying(crowd, *tried);
  go_away(*crowd.store);
  for (int i = 0; i < 10; ++i) {
    crowd.clock->advance(1s);
    comes_to_be([&] { return first->rests(*crowd.clock) && second.rests(*crowd.clock); });
  }
  crowd.store->during_each_call({});
  first.reset();
  for (int i = 0; i < 60; ++i) {
    crowd.clock->advance(1s);
    comes_to_be([&] { return second.rests(*crowd.clock); });
  }
  CHECK_FALSE(second.has_it());
}

TEST_CASE("a thread behind another hears at its deadline of a store that fails",
          "[waiting][R15][R20][threads]") {
  Crowd crowd;
  DistributedLock held(crowd.pinger, "jobs", patient_options());
  REQUIRE(held.lock_try("x"));
  LockOptions looking = patient_options();
  looking.recheck = 1s;
  Candidate first(crowd, looking);
  DistributedLock lock(crowd.pinger, "jobs", looking);
  go_away(*crowd.store);
  auto second = std::async(std::launch::async,
                           [&] { return thrown_by([&] { return lock.try_lock_for(10s); }); });
  comes_to_be([&] {
    // Not before the first thread has looked.
    if (first.rests(*crowd.clock)) crowd.clock->advance(500ms);
    return second.wait_for(1ms) == std::future_status::ready;
  });
  CHECK(second.get() == Errc::not_applied);
  crowd.store->during_each_call({});
}

TEST_CASE("a thread that comes while the store fails is patient from then on",
          "[waiting][R15][R20][threads]") {
  Crowd crowd;
  DistributedLock held(crowd.pinger, "jobs", patient_options());
  REQUIRE(held.lock_try("x"));
  LockOptions looking = patient_options();
  looking.recheck = 1s;
  LockOptions of_first = looking;
  // It may end soon after the other has come, which asks the store itself then.
  const bool first_waits_on = GENERATE(true, false);
  of_first.store_patience = first_waits_on ? std::chrono::milliseconds::max() : 65s;
  Candidate first(crowd, of_first);
  DistributedLock lock(crowd.pinger, "jobs", looking);
  go_away(*crowd.store);
  for (int i = 0; i < 60; ++i) {
    crowd.clock->advance(1s);
    comes_to_be([&] { return first.rests(*crowd.clock); });
  }
  const SteadyTime came = crowd.clock->steady_now();
  auto second = std::async(std::launch::async, [&] { return thrown_by([&] { lock.lock(); }); });
  comes_to_be([&] {
    if (first.rests(*crowd.clock)) crowd.clock->advance(500ms);
    return second.wait_for(1ms) == std::future_status::ready;
  });
  crowd.store->during_each_call({});  // Also where a check fails: a failing unlock would wait.
  CHECK(second.get() == Errc::not_applied);
  CHECK(crowd.clock->steady_now() - came >= looking.store_patience);
  CHECK(first.has_it() == !first_waits_on);
}

TEST_CASE("patience counts from the first failure, however rare the looks are", "[waiting][R15]") {
  const LockOptions options{
      .poll_min = 2min, .poll_max = 2min, .recheck = 2min, .deadlock_after = 0ms};
  WaitForAnother scene(options, [](WaitForAnother& at, int look) {
    if (look == 3) at.b.store->fail("inspect", Fault::rejected, 1);
    if (look == 5) REQUIRE(at.held->unlock() == UnlockResult::released);
  });
  CHECK_NOTHROW(scene.waiter->lock());
  CHECK(scene.looks >= 5);
}

TEST_CASE("a wait ends at its next look where its store was replaced", "[waiting][R15]") {
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
  WaitForAnother scene({.deadlock_after = 0ms}, [](WaitForAnother& at, int look) {
    if (look == 3 || look == 100) at.b.store->fail("inspect", Fault::rejected, 5);
    if (look == 110) REQUIRE(at.held->unlock() == UnlockResult::released);
  });
  CHECK_NOTHROW(scene.waiter->lock());
  CHECK(scene.fleet.clock->waited() > 60s);
}

TEST_CASE("a failure of the store ends no wait that begins after those that met it",
          "[waiting][R15][R20]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("jobs");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->has_line = true;
  const auto stands = b.lock("jobs");
  // It judges otherwise, and so stands in line beside the other.
  const auto beside = b.lock("jobs", {.takeover_after = 20min, .store_patience = 0ms});
  int told = 0;
  stands->on_waiting([&](const WaitReport&) {
    ++told;
    b.store->fail("stand", Fault::rejected);
    CHECK(thrown_by([&] { return beside->try_lock_for(1s); }) == Errc::not_applied);
    CHECK(thrown_by([&] { return beside->try_lock_for(1s); }) == std::nullopt);
  });
  CHECK_FALSE(stands->try_lock_for(1min));
  CHECK(told == 1);
}
