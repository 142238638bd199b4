// Takeovers by threads that wait behind each other (R21).
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <latch>

#include "distlock/error.h"
#include "support/crowd.h"
#include "support/pausing_clock.h"
#include "support/queued.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("threads that judge a holder otherwise do not stand behind each other",
          "[waiting][R5][R6][R20][threads]") {
  LockOptions other = patient_options();
  SECTION("by the window of those that state none") { other.unstated_window = 20min; }
  SECTION("by the skew that they tolerate") { other.max_clock_skew = 1s; }
  SECTION("by watching") { other.takeover_rule = TakeoverRule::watched; }
  Crowd crowd;
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  const Candidate first(crowd);
  crowd.wait_for_line(1);
  const Candidate second(crowd, other);
  crowd.wait_for_line(2);
}

TEST_CASE("a thread takes over by its own options, whoever of its process came before it",
          "[waiting][R6][R7][R20][threads]") {
  const bool without_ping = GENERATE(false, true);
  Crowd crowd;
  LockOptions quick = patient_options();
  quick.takeover_after = 5min;
  const auto dead_process = std::make_shared<DistributedLockPinger>(
      Environment{.store = crowd.inner, .clock = crowd.clock, .process = "dead", .random = {}},
      PingerOptions{}, PingerDrive::caller);
  DistributedLock dead(dead_process, "jobs", quick);
  REQUIRE(dead.lock_try("before it died"));
  LockOptions slow = quick;
  if (without_ping) crowd.inner->remove_ping("dead");
  if (without_ping) quick.missing_ping = MissingPing::expire_from_when;
  if (!without_ping) slow.takeover_after = 24h;
  Candidate first(crowd, slow);
  Candidate second(crowd, quick);
  const SteadyTime silent_for_5min = crowd.clock->steady_now() + 6min;
  while (crowd.clock->steady_now() < silent_for_5min) {
    crowd.clock->advance(20s);
    crowd.pinger->ping_round();
    comes_to_be([&] { return second.rests(*crowd.clock); });
  }
  CHECK(second.has_it());
  CHECK_FALSE(first.has_it());
}

TEST_CASE("a takeover for the threads behind claims as many fences as its holder counts on",
          "[waiting][R6][R10][R21][threads]") {
  Crowd crowd;
  LockOptions quick = patient_options();
  quick.takeover_after = 5min;
  const auto dead_process = std::make_shared<DistributedLockPinger>(
      Environment{.store = crowd.inner, .clock = crowd.clock, .process = "dead", .random = {}},
      PingerOptions{}, PingerDrive::caller);
  DistributedLock dead(dead_process, "jobs", quick);
  REQUIRE(dead.lock_try("before it died"));
  std::optional<Candidate> alone(std::in_place, crowd, quick);
  crowd.wait_for_line(1);
  Candidate first(crowd, quick);
  const Candidate second(crowd, quick);
  // The first takes a place for several then.
  alone.reset();
  crowd.wait_for_line(1);
  const SteadyTime silent_for_5min = crowd.clock->steady_now() + 6min;
  while (crowd.clock->steady_now() < silent_for_5min && !first.has_it()) {
    crowd.clock->advance(20s);
    crowd.pinger->ping_round();
    comes_to_be([&] { return first.rests(*crowd.clock) && second.rests(*crowd.clock); });
  }
  CHECK(first.hold().fence == 2);
  CHECK(crowd.stored().fence == 65);
}
