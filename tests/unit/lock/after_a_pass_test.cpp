// A hold that was passed on, or might have been (R21): its ping, its log, its object afterwards.
#include <catch2/catch.hpp>

#include "support/captured_log.h"
#include "support/crowd.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a hold is passed on as long as a claim would need no ping before it",
          "[waiting][R9][R21][threads]") {
  const bool would_ping = GENERATE(true, false);
  Crowd crowd;
  const SteadyTime pinged = crowd.clock->steady_now();
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  Candidate alone(crowd);
  crowd.wait_for_line(1);
  Candidate first(crowd);
  Candidate second(crowd);
  REQUIRE(before.unlock() == UnlockResult::released);
  alone.hold();
  crowd.wait_for_line(1);
  crowd.clock->advance(pinged + 1min - 20ms - crowd.clock->steady_now());
  alone.give_up();
  const Token ts = *first.hold().ts;
  REQUIRE(crowd.store->calls("ping") == 1);
  crowd.clock->advance(would_ping ? 20ms + 1ns : 20ms);
  first.give_up();
  CHECK((second.hold().ts == ts) == !would_ping);
}

TEST_CASE("a thread that is not next sleeps on when no hold is passed on any more",
          "[waiting][R20][R21][threads]") {
  LockOptions looking = patient_options();
  looking.recheck = 50ms;
  PassingScene scene({patient_options(), looking});
  const auto& clock = scene.crowd.clock;
  clock->advance(50ms);
  const SteadyTime next = clock->steady_now() + 50ms;
  CHECK_NOTHROW(comes_to_be([&] { return clock->waits_until(scene.third().id) == next; }));
}

TEST_CASE("a hold that is passed on is logged as one, and one that is released is not",
          "[waiting][R21][log][threads]") {
  PassingScene scene;
  Captured log;
  const std::string passed = "goes on to another thread of this process";
  scene.first->give_up();
  scene.second().give_up();
  CHECK(log.count(severity_level::debug, passed) == 2);
  scene.third().give_up();
  CHECK(log.count(severity_level::debug, passed) == 2);
}

TEST_CASE("a stop removes the ping once a hold was passed on and released",
          "[waiting][R12][R21][threads]") {
  PassingScene scene;
  scene.first->give_up();
  scene.second().give_up();
  CHECK(scene.third().give_up() == UnlockResult::released);
  scene.crowd.pinger->stop();
  CHECK(scene.crowd.store->calls("remove_ping") == 1);
}

TEST_CASE("an object that has passed a hold on claims from no release before it",
          "[waiting][R21][threads]") {
  Crowd crowd;
  const auto passing = std::make_shared<DistributedLock>(crowd.pinger, "jobs", patient_options());
  REQUIRE(passing->lock_try("once"));
  REQUIRE(passing->unlock() == UnlockResult::released);
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  Candidate alone(crowd);
  crowd.wait_for_line(1);
  Candidate first(crowd);
  Candidate second(crowd, passing);
  Candidate third(crowd);
  REQUIRE(before.unlock() == UnlockResult::released);
  alone.hold();
  crowd.wait_for_line(1);
  alone.give_up();
  first.give_up();
  second.give_up();
  REQUIRE(third.hold().ts == first.hold().ts);
  const int claims = crowd.store->calls("claim");
  CHECK_FALSE(passing->lock_try("again"));
  CHECK(crowd.store->calls("claim") == claims);
}
