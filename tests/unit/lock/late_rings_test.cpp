// Rings that come at a moment at which a waiter could miss them. Each waiter looks by itself once
// in an hour, so that a ring that is missed shows.
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

const LockOptions kByBell{.recheck = 1h, .deadlock_after = 0ms};

// A fleet's time, which runs something once before a wait, or between its end and its return.
class InterruptedClock : public ManualClock {
 public:
  explicit InterruptedClock(std::shared_ptr<ManualClock> inner) : inner_(std::move(inner)) {}
  SteadyTime steady_now() const override { return inner_->steady_now(); }
  WallTime wall_now() const override { return inner_->wall_now(); }
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    if (before) std::exchange(before, {})();
    const bool passed = inner_->wait_until(until, stop);
    if (passed && after) std::exchange(after, {})();
    return passed;
  }

  std::function<void()> before;
  std::function<void()> after;

 private:
  std::shared_ptr<ManualClock> inner_;
};

// A server by whose clock no request is made any more, once another member is primary.
class FailingOver : public FaultyStore {
 public:
  explicit FailingOver(std::shared_ptr<Store> inner) : FaultyStore(inner), inside_(inner) {}
  Inspection inspect(std::string_view name, Freshness freshness) override {
    const std::string by = clock;
    Inspection seen = FaultyStore::inspect(name, freshness);
    if (seen.now) seen.now->clock = by;
    if (!seen.lock) seen.now.reset();  // As on MongoDB.
    return seen;
  }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    PingRecord record = FaultyStore::ping(process, health);
    record.clock = clock;
    return record;
  }
  std::string clock = "one";

 private:
  Standing stand(std::string_view name, const Claim& claim) override {
    if (claim.cutoff.clock != clock) return {};
    Claim there = claim;
    there.cutoff.clock = "memory";
    return inside_->line()->stand(name, there);
  }

  std::shared_ptr<Store> inside_;
};

std::chrono::nanoseconds time_to_lock(const Fleet& fleet, DistributedLock& lock) {
  const auto start = fleet.clock->steady_now();
  lock.lock();
  return fleet.clock->steady_now() - start;
}

struct Waiting {
  explicit Waiting(Fleet& fleet) {
    clock = std::make_shared<InterruptedClock>(fleet.clock);
    fleet.clock = clock;
    process = fleet.process("waiter");
    process.store->has_line = true;
  }

  std::shared_ptr<InterruptedClock> clock;
  Process process;
};

}  // namespace

TEST_CASE("a ring that comes after a fail-over is heard", "[waiting][R19][R8]") {
  Fleet fleet;
  const Process first = fleet.process("holder");
  first.store->has_line = true;
  const auto holder = first.lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const auto server = std::make_shared<FailingOver>(fleet.store);
  const auto process = fleet.process_with(server, "waiter");
  server->has_line = true;
  const auto lock = process.lock("jobs", kByBell);
  server->after("inspect", [&] {
    server->clock = "two";
    REQUIRE(holder->unlock() == UnlockResult::released);
  });
  CHECK(time_to_lock(fleet, *lock) < 5s);
}

TEST_CASE("a wait for a new lock after a fail-over gets it by the new clock", "[waiting][R4][R8]") {
  Fleet fleet;
  const auto server = std::make_shared<FailingOver>(fleet.store);
  const auto process = fleet.process_with(server, "waiter");
  server->has_line = true;
  process.pinger->ping_round();
  server->clock = "two";
  server->forget_calls();
  CHECK(process.lock("jobs", kByBell)->try_lock_for(1s));
  CHECK(server->calls("ping") == 1);
}

TEST_CASE("a ring that comes as a wait runs out is heard", "[waiting][R19]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Waiting waiting(fleet);
  const auto lock = waiting.process.lock("jobs", kByBell);
  waiting.clock->after = [&] { fleet.store->line()->ring("jobs", {"waiter"}); };
  CHECK_FALSE(lock->try_lock_for(10min));
  // For its place, at the ring, and at the end.
  CHECK(waiting.process.store->calls("stand") == 3);
}

TEST_CASE("a holder that took over as a wait ran out is attended", "[waiting][R19][R23]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Waiting waiting(fleet);
  const auto lock = waiting.process.lock("jobs", kByBell);
  // The kernel tells of the first end, and somebody is quicker. That one ends, too.
  waiting.clock->after = [&] {
    fleet.store->ping("next", {});
    const LockRecord dead = fleet.stored("jobs");
    const Claim next = fleet.claim_by("next", Token{{9}});
    REQUIRE(fleet.store->claim("jobs", FromHold{*dead.ts, dead.when}, next));
    fleet.store->line()->ring("jobs", {"waiter"});
    waiting.process.store->before("stand", [&] { waiting.process.store->holders_ended = true; });
  };
  CHECK(time_to_lock(fleet, *lock) < 5s);
}

TEST_CASE("a thread is woken when its lock object is free again after another thread's try",
          "[waiting][R19][R20]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Waiting waiting(fleet);
  waiting.process.pinger->ping_round();
  const auto lock = waiting.process.lock("jobs", kByBell);
  std::promise<void> trying;
  std::promise<void> go_on;
  waiting.process.store->before("inspect", [&] {
    trying.set_value();
    go_on.get_future().wait();
  });
  std::thread other([&] { CHECK_FALSE(lock->lock_try("meanwhile")); });
  trying.get_future().wait();
  waiting.clock->before = [&] {
    go_on.set_value();
    other.join();
    REQUIRE(holder->unlock() == UnlockResult::released);
  };
  CHECK(time_to_lock(fleet, *lock) < 5s);
}

TEST_CASE("a thread behind an object's hold steps aside as soon as that hold is over",
          "[waiting][R19][R20]") {
  Fleet fleet;
  const Waiting waiting(fleet);
  const auto lock = waiting.process.lock("jobs", kByBell);
  std::thread([&] { REQUIRE(lock->lock_try("kept")); }).join();
  const SteadyTime over = lock->valid_until();
  SteadyTime woken;
  waiting.clock->before = [&] {
    waiting.clock->before = [&] { woken = fleet.clock->steady_now(); };
  };
  CHECK_FALSE(lock->try_lock_for(3h));
  CHECK(woken == over);
}

TEST_CASE("a waiter looks when the holder can be dead, however seldom it looks otherwise",
          "[waiting][R19][R6]") {
  Fleet fleet;
  const auto number = GENERATE(range(0, 20));
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  // The name seeds the process's random numbers.
  const Process process = fleet.process("waiter" + std::to_string(number));
  process.store->has_line = true;
  const auto lock = process.lock("jobs", {.recheck = 8min, .deadlock_after = 0ms});
  CHECK(time_to_lock(fleet, *lock) <= 16min + 1s);
}

TEST_CASE("a release whose answer got lost rings when it is known", "[waiting][R19][R8]") {
  Fleet fleet;
  const Process first = fleet.process("holder");
  first.store->has_line = true;
  const auto holder = first.lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Process process = fleet.process("waiter");
  process.store->has_line = true;
  const auto lock = process.lock("jobs", kByBell);
  process.store->after("inspect", [&] {
    first.store->fail("release", Fault::lost_reply);
    CHECK(holder->unlock() == UnlockResult::released);
    first.pinger->ring_round();
  });
  CHECK(time_to_lock(fleet, *lock) < 1min);
}

TEST_CASE("a stop among the releases of a wait for a new lock after a fail-over ends them",
          "[waiting][R4][R8][R15]") {
  Fleet fleet;
  const auto server = std::make_shared<FailingOver>(fleet.store);
  const auto process = fleet.process_with(server, "waiter");
  server->has_line = true;
  process.pinger->ping_round();
  for (const char* const name : {"one", "two"}) {
    const auto left = process.lock(name, kByBell);
    REQUIRE(left->try_lock_for(1min));
    server->fail("release", Fault::rejected, 3);
    REQUIRE(left->unlock() == UnlockResult::pending);
  }
  server->clock = "two";
  std::stop_source stop;
  server->before("release", [&] { stop.request_stop(); });
  server->forget_calls();
  CHECK_FALSE(process.lock("jobs", kByBell)->lock(stop.get_token()));
  CHECK(server->calls("ping") == 1);
  CHECK(server->calls("release") == 1);
}
