#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

// Places in line whose replies are lost (R8, R9, R18).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<FaultyStore> with_line(Fleet& fleet) {
  auto store = std::make_shared<FaultyStore>(fleet.store);
  store->has_line = true;
  return store;
}

}  // namespace

TEST_CASE("a place whose reply was lost is asked for again with the same ticket",
          "[waiting][R8][R18]") {
  Fleet fleet;
  const auto process = fleet.process_with(with_line(fleet), "a");
  const auto lock = process.lock("jobs");
  process.store->fail("stand", Fault::lost_reply);
  REQUIRE(lock->try_lock_for(1min));
  CHECK(process.store->calls("stand") == 2);
  CHECK(lock->fence() == 1);
  CHECK(process.pinger->stats().pending_releases == 0);
}

TEST_CASE("a hold that a wait may have got without hearing of it is freed later",
          "[waiting][R8][R18]") {
  Fleet fleet;
  const auto process = fleet.process_with(with_line(fleet), "a");
  LockOptions impatient;
  impatient.store_patience = 0ms;
  const auto lock = process.lock("jobs", impatient);
  process.store->fail("stand", Fault::lost_reply);
  CHECK(thrown_by([&] { return lock->lock(); }) == Errc::outcome_unknown);
  CHECK(fleet.stored("jobs").taken());
  // Before a round could find it as a stray.
  CHECK(process.pinger->stats().pending_releases == 1);
  process.pinger->ping_round();
  CHECK_FALSE(fleet.stored("jobs").taken());
}

TEST_CASE("a hold that was granted before a pause is not kept by a ping after it",
          "[waiting][R9][R18]") {
  Fleet fleet;
  const auto process = fleet.process_with(with_line(fleet), "a");
  LockOptions patient;
  patient.store_patience = 1h;
  const auto lock = process.lock("jobs", patient);
  process.store->fail("stand", Fault::lost_reply);
  Token first;
  process.store->after_lost_reply = [&] {
    first = *fleet.stored("jobs").ts;
    fleet.clock->advance(15min);
  };
  REQUIRE(lock->try_lock_for(1h));
  CHECK(process.store->calls("stand") == 2);
  CHECK(lock->fence() == 2);
  CHECK(lock->record().ts != first);
}

TEST_CASE("a place that was granted before a pause is not kept by a takeover that failed after it",
          "[waiting][R9][R18]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("jobs");
  REQUIRE(dead->lock_try("before it died"));
  fleet.clock->advance(17min);
  const auto store = with_line(fleet);
  std::function<void()> after_the_look;
  const Environment environment{.store = store,
                                .clock = fleet.clock,
                                .process = "a",
                                .random = [&, last = std::uint64_t{1}]() mutable {
                                  if (const auto now = std::exchange(after_the_look, {})) now();
                                  return last = last * 6364136223846793005ULL + 1;
                                }};
  DistributedLock lock(
      std::make_shared<DistributedLockPinger>(environment, PingerOptions{}, PingerDrive::caller),
      "jobs");
  store->fail("stand", Fault::delayed);
  const auto granted_before_a_pause = [&] {
    REQUIRE(fleet.store->release("jobs", *fleet.stored("jobs").ts) == ReleaseResult::freed);
    store->deliver();
    REQUIRE(fleet.stored("jobs").fence == 2);
    fleet.clock->advance(20min);
  };
  store->before("inspect", [&] { after_the_look = granted_before_a_pause; });
  LockRecord other;
  REQUIRE(lock.try_lock_for(1h, {}, "waits", &other));
  CHECK(lock.fence() == 3);
}

TEST_CASE("a request for a place that arrives after the unlock grants nothing",
          "[waiting][R3][R18]") {
  Fleet fleet;
  const auto process = fleet.process_with(with_line(fleet), "a");
  const auto lock = process.lock("jobs");
  process.store->fail("stand", Fault::delayed);
  REQUIRE(lock->try_lock_for(1min));
  REQUIRE(lock->unlock() == UnlockResult::released);
  process.store->deliver();
  CHECK_FALSE(fleet.stored("jobs").taken());
  CHECK(fleet.stored("jobs").line.empty());
}

TEST_CASE("a request for a place that arrives after another's hold is freed later",
          "[waiting][R8][R18]") {
  Fleet fleet;
  const auto process = fleet.process_with(with_line(fleet), "a");
  const auto lock = process.lock("jobs");
  process.store->fail("stand", Fault::delayed);
  REQUIRE(lock->try_lock_for(1min));
  REQUIRE(lock->unlock() == UnlockResult::released);
  const auto other = fleet.process("b").lock("jobs");
  REQUIRE(other->lock_try("in between"));
  REQUIRE(other->unlock() == UnlockResult::released);
  process.store->deliver();
  REQUIRE(fleet.stored("jobs").taken());
  // Before a round could find it as a stray.
  CHECK(process.pinger->stats().pending_releases == 1);
  process.pinger->ping_round();
  CHECK_FALSE(fleet.stored("jobs").taken());
}

TEST_CASE("a ticket that may arrive once more is left pending by its own unlock alone",
          "[waiting][R8][R18]") {
  Fleet fleet;
  const auto process = fleet.process_with(with_line(fleet), "a");
  const auto lock = process.lock("jobs");
  process.store->fail("stand", Fault::lost_reply);
  REQUIRE(lock->try_lock_for(1min));
  REQUIRE(lock->unlock() == UnlockResult::released);
  CHECK(process.pinger->stats().pending_releases == 1);
  fleet.clock->advance(5min);
  process.pinger->ping_round();
  CHECK(process.pinger->stats().pending_releases == 0);
  REQUIRE(lock->try_lock_for(1min));
  REQUIRE(lock->unlock() == UnlockResult::released);
  CHECK(process.pinger->stats().pending_releases == 0);
}
