// Those who wait for a lock whose holder has ended, as the kernel says where locks are in a file.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// Looks by itself once in an hour.
const LockOptions kTold{.recheck = 1h};

// In line for "jobs", and will not be there.
void stands(Fleet& fleet, std::uint8_t number) {
  const Claim claim = fleet.claim_by("gone", Token{{number}});
  REQUIRE(fleet.store->line()->stand("jobs", claim).in_line);
}

Process waiting_process(Fleet& fleet) {
  Process process = fleet.process("waiter");
  process.store->has_line = process.store->holders_ended = true;
  return process;
}

}  // namespace

TEST_CASE("the first in line takes over from an ended holder at once, the next ones in their turns",
          "[waiting][R17][R23]") {
  const auto [in_front, waited] = GENERATE(table<std::uint8_t, std::chrono::milliseconds>(
      {{0, 0ms}, {1, 100ms}, {2, 150ms}, {3, 200ms}}));
  CAPTURE(in_front);
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  for (std::uint8_t number = 1; number <= in_front; ++number) stands(fleet, number);
  const Process process = waiting_process(fleet);
  const auto lock = process.lock("jobs", kTold);
  const auto start = fleet.clock->steady_now();
  lock->lock();
  CHECK(fleet.clock->steady_now() - start == waited);
}

TEST_CASE("turns begin anew where somebody took over from an ended holder, and ended too",
          "[waiting][R17][R23]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  for (std::uint8_t number = 1; number <= 3; ++number) stands(fleet, number);
  const Process process = waiting_process(fleet);
  const auto lock = process.lock("jobs", kTold);
  process.store->after("inspect", [&] {
    const LockRecord dead = fleet.stored("jobs");
    fleet.store->ping("next", {});
    const Claim next = fleet.claim_by("next", Token{{9}});
    REQUIRE(fleet.store->claim("jobs", FromHold{*dead.ts, dead.when}, next));
  });
  const auto start = fleet.clock->steady_now();
  lock->lock();
  CHECK(fleet.clock->steady_now() - start == 400ms);
}

// The store had told the waiter of the first end, and so watched nobody for it.
TEST_CASE("a holder that took over before a waiter had looked is taken over at once when it ends",
          "[waiting][R19][R23]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Process process = waiting_process(fleet);
  const auto lock = process.lock("jobs", kTold);
  process.store->after("stand", [&] {
    fleet.store->ping("next", {});
    const LockRecord dead = fleet.stored("jobs");
    const Claim next = fleet.claim_by("next", Token{{9}});
    REQUIRE(fleet.store->claim("jobs", FromHold{*dead.ts, dead.when}, next));
    process.store->holders_ended = false;
    process.store->before("stand", [&] { process.store->holders_ended = true; });
  });
  const auto start = fleet.clock->steady_now();
  lock->lock();
  CHECK(fleet.clock->steady_now() == start);
}

// Mostly a process that is just ending, or about to execute a program. Nothing tells of its end.
TEST_CASE("a waiter has the lock soon after what acted for an ended holder", "[waiting][R23]") {
  const auto over = GENERATE(1ms, 20ms, 300ms, 2s);
  CAPTURE(over);
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Process process = waiting_process(fleet);
  process.store->something_acts_for_them = true;
  const auto start = fleet.clock->steady_now();
  const auto passed = [&] { return fleet.clock->steady_now() - start; };
  process.store->during_each_call(
      [&](const std::string&) { process.store->something_acts_for_them = passed() < over; });
  process.lock("jobs", kTold)->lock();
  process.store->during_each_call({});
  CHECK(passed() <= 2 * over + 5ms);
}

TEST_CASE("a waiter looks soon at what acts for each holder that ends, and not for the first alone",
          "[waiting][R20][R23]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Process process = waiting_process(fleet);
  process.store->something_acts_for_them = true;
  const auto start = fleet.clock->steady_now();
  std::optional<SteadyTime> next_since;
  process.store->during_each_call([&](const std::string& call) {
    const SteadyTime now = fleet.clock->steady_now();
    if (call == "inspect" && !next_since && now - start > 30s) {
      next_since = now;
      fleet.store->ping("next", {});
      const LockRecord dead = fleet.stored("jobs");
      const Claim next = fleet.claim_by("next", Token{{9}});
      REQUIRE(fleet.store->claim("jobs", FromHold{*dead.ts, dead.when}, next));
    }
    process.store->something_acts_for_them = !next_since || now - *next_since < 300ms;
  });
  process.lock("jobs", {.recheck = 10s})->lock();
  process.store->during_each_call({});
  REQUIRE(next_since);
  CHECK(fleet.clock->steady_now() - *next_since <= 605ms);
}

TEST_CASE("the first three in line look soon while something acts for the dead",
          "[waiting][R17][R20][R23]") {
  const auto [in_front, looks] = GENERATE(table<std::uint8_t, std::vector<std::int64_t>>(
      {{0, {0, 0, 5, 15, 35, 75, 155, 315, 635, 1275, 2555, 5115}},
       {2, {0, 0, 155, 315, 485, 675, 905, 1215, 1685, 2475, 3905, 6615}},
       {3, {0, 0}}}));
  CAPTURE(in_front);
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  for (std::uint8_t number = 1; number <= in_front; ++number) stands(fleet, number);
  const Process process = waiting_process(fleet);
  process.store->something_acts_for_them = true;
  std::vector<std::int64_t> looked;
  const auto start = fleet.clock->steady_now();
  process.store->during_each_call([&](const std::string& call) {
    if (call == "inspect") looked.push_back((fleet.clock->steady_now() - start) / 1ms);
  });
  CHECK_FALSE(process.lock("jobs", kTold)->try_lock_for(1min));
  process.store->during_each_call({});
  looked.pop_back();  // At the end of the wait.
  CHECK(looked == looks);
}

TEST_CASE("a waiter rests while something acts for a holder that has ended",
          "[waiting][R20][R23]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs");
  REQUIRE(holder->lock_try("first"));
  const Process process = waiting_process(fleet);
  process.store->something_acts_for_them = true;
  const auto lock = process.lock("jobs", kTold);
  CHECK_FALSE(lock->try_lock_for(10min));
  // Once more after the look, and at the end; and ten looks that come soon.
  CHECK(process.store->calls("stand") == 3);
  CHECK(process.store->calls("inspect") == 13);
}
