// Waiters that find the lock free, and nobody who rings for them: the process that released has
// ended (R17, R19).
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <utility>

#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// Looks by itself after half a second, and then once in an hour.
const LockOptions kSeldom{.recheck = 1h};

struct FreedByTheDead {
  FreedByTheDead() {
    holder = fleet.process("holder").lock("jobs");
    REQUIRE(holder->lock_try("x"));
    waiting.store->has_line = true;
  }

  Standing stands(std::uint8_t number) {
    return fleet.store->line()->stand("jobs", fleet.claim_by("in front", Token{{number}}));
  }
  // Rings for nobody.
  void release() {
    const LockRecord held = fleet.stored("jobs");
    fleet.store->line()->release_and_tell("jobs", *held.ts, ReleaseRule::quick);
    freed_at = fleet.clock->steady_now();
  }

  Fleet fleet;
  std::unique_ptr<DistributedLock> holder;
  Process waiting = fleet.process("waiting");
  SteadyTime freed_at;
};

}  // namespace

TEST_CASE("places that open together claim one after the other, though nobody rings for them",
          "[waiting][R17]") {
  const auto [in_front, came, got] =
      GENERATE(table<std::uint8_t, std::chrono::milliseconds, std::chrono::milliseconds>(
          {{1, 30ms, 100ms}, {2, 30ms, 150ms}, {2, 60ms, 150ms}, {3, 60ms, 200ms}}));
  CAPTURE(in_front, came);
  FreedByTheDead scene;
  for (std::uint8_t number = 1; number <= in_front; ++number) REQUIRE(scene.stands(number).in_line);
  scene.release();
  scene.fleet.clock->advance(came);
  scene.waiting.lock("jobs", kSeldom)->lock();
  CHECK(scene.fleet.clock->steady_now() - scene.freed_at == got);
}

TEST_CASE("a waiter that looks at a free lock after its turn rings for those in front first",
          "[waiting][R17][R19]") {
  const bool there = GENERATE(true, false);
  CAPTURE(there);
  FreedByTheDead scene;
  REQUIRE(scene.stands(1).in_line);
  scene.waiting.store->after("stand", [&] { scene.release(); });
  scene.waiting.store->before("ring", [&] {
    if (there) CHECK(scene.stands(1).hold);
  });
  const auto lock = scene.waiting.lock("jobs", kSeldom);
  CHECK(lock->try_lock_for(30s) == !there);
  CHECK(scene.waiting.store->calls("ring") == 1);
  if (!there) CHECK(scene.fleet.clock->steady_now() - scene.freed_at == 600ms);
}

TEST_CASE(
    "a waiter that looks at a free lock after its turn rings each process once, and not its own",
    "[waiting][R17][R19]") {
  FreedByTheDead scene;
  Line& line = *scene.fleet.store->line();
  REQUIRE(line.stand("jobs", scene.fleet.claim_by("waiting", Token{{1}})).in_line);
  REQUIRE(scene.stands(2).in_line);
  REQUIRE(scene.stands(3).in_line);
  scene.waiting.store->after("stand", [&] { scene.release(); });
  int heard = 0;
  int heard_by_own = 0;
  const auto ear = line.listen("in front", [&](std::string_view) { ++heard; });
  const auto own_ear = line.listen("waiting", [&](std::string_view) { ++heard_by_own; });
  const auto lock = scene.waiting.lock("jobs", kSeldom);
  CHECK(lock->try_lock_for(30s));
  CHECK(heard == 1);
  CHECK(heard_by_own == 0);
}

TEST_CASE("a waiter whose ring is refused takes a free lock all the same", "[waiting][R17][R19]") {
  FreedByTheDead scene;
  REQUIRE(scene.stands(1).in_line);
  scene.waiting.store->after("stand", [&] { scene.release(); });
  scene.waiting.store->fail("ring", Fault::rejected);
  CHECK(scene.waiting.lock("jobs", kSeldom)->try_lock_for(30s));
}

TEST_CASE("a waiter that looks at a free lock after its turn rings for nobody behind it",
          "[waiting][R17][R19]") {
  FreedByTheDead scene;
  Line& line = *scene.fleet.store->line();
  REQUIRE(scene.stands(1).in_line);
  scene.waiting.store->after("stand", [&] {
    REQUIRE(line.stand("jobs", scene.fleet.claim_by("behind", Token{{2}})).in_line);
    scene.release();
  });
  int in_front = 0;
  int behind = 0;
  const auto ear = line.listen("in front", [&](std::string_view) { ++in_front; });
  const auto ear_behind = line.listen("behind", [&](std::string_view) { ++behind; });
  const auto lock = scene.waiting.lock("jobs", kSeldom);
  CHECK(lock->try_lock_for(30s));
  CHECK(in_front == 1);
  CHECK(behind == 0);
}
