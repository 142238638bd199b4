#include <algorithm>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>

#include "distlock/distributed_lock.h"
#include "support/crowd.h"

// A hold goes on from thread to thread of one process (R21).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a hold goes on to the threads that wait, without a call of the store",
          "[waiting][R21][threads]") {
  PassingScene scene;
  const LockRecord first = scene.first->hold();
  const int calls = scene.crowd.store->calls();
  CHECK(scene.first->give_up() == UnlockResult::released);
  CHECK(scene.second().hold().ts == first.ts);
  CHECK(scene.second().hold().fence == 4);
  CHECK(scene.second().lock->held());
  CHECK_FALSE(scene.first->lock->held());
  CHECK(scene.first->lock->unlock() == UnlockResult::not_ours);
  CHECK(scene.first->lock->unlock(first) == UnlockResult::not_ours);
  CHECK(scene.second().give_up() == UnlockResult::released);
  CHECK(scene.third().hold().ts == first.ts);
  CHECK(scene.third().hold().fence == 5);
  CHECK(scene.crowd.store->calls() == calls);
  CHECK(scene.crowd.stored().taken());
  // Nobody waits any more.
  CHECK(scene.third().give_up() == UnlockResult::released);
  CHECK_FALSE(scene.crowd.stored().taken());
}

TEST_CASE("a claim for several says how often it may be passed on",
          "[waiting][R21][R22][threads]") {
  PassingScene scene;
  CHECK(scene.crowd.stored().who.ends_with("+63"));
  scene.first->give_up();
  scene.second().give_up();
  scene.third().give_up();
  DistributedLock alone(scene.crowd.pinger, "jobs", patient_options());
  REQUIRE(alone.lock_try("for one"));
  CHECK(scene.crowd.stored().who.find('+') == std::string::npos);
}

TEST_CASE("a thread that passes nothing on claims for itself alone", "[waiting][R21][threads]") {
  LockOptions keeping = patient_options();
  SECTION("with passing switched off") { keeping.pass_rule = PassRule::never; }
  SECTION("with a durable release") { keeping.release_rule = ReleaseRule::durable; }
  Crowd crowd;
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  Candidate alone(crowd);
  crowd.wait_for_line(1);
  Candidate second(crowd, keeping);
  const Candidate third(crowd);
  before.unlock();
  alone.hold();
  crowd.wait_for_line(1);
  alone.give_up();
  const Fence fence = second.hold().fence;
  CHECK(crowd.stored().fence == fence);
}

TEST_CASE("a claim after passes has a greater fence than all of them",
          "[waiting][R10][R21][threads]") {
  PassingScene scene;
  scene.first->give_up();
  scene.second().give_up();
  scene.third().give_up();
  DistributedLock next(scene.crowd.pinger, "jobs", patient_options());
  REQUIRE(next.lock_try("next"));
  CHECK(next.fence() == 67);
}

TEST_CASE("a hold is passed on for 50 ms after its claim, and then released",
          "[waiting][R21][threads]") {
  PassingScene scene;
  const SteadyTime over = scene.crowd.clock->steady_now() + 50ms;
  scene.crowd.clock->advance(50ms - 1ns);
  scene.first->give_up();
  CHECK(scene.second().hold().ts == scene.first->hold().ts);
  comes_to_be([&] { return scene.crowd.clock->waits_until(scene.third().id) == over; });
  scene.crowd.clock->advance(1ns);
  // The next of them takes a place in the store's line then.
  scene.crowd.wait_for_line(1);
  scene.second().give_up();
  CHECK(scene.third().hold().ts != scene.first->hold().ts);
  CHECK(scene.third().hold().fence == 67);
}

TEST_CASE("after 50 ms a hold goes to none of those behind the one in the store's line",
          "[waiting][R21][threads]") {
  PassingScene scene;
  const SteadyTime over = scene.crowd.clock->steady_now() + 50ms;
  comes_to_be([&] { return scene.crowd.clock->waits_until(scene.second().id) == over; });
  scene.crowd.clock->advance(50ms);
  scene.crowd.wait_for_line(1);
  scene.first->give_up();
  CHECK(scene.second().hold().ts != scene.first->hold().ts);
  CHECK(scene.second().hold().fence == 67);
}

TEST_CASE("a hold that a late request may get once more is not passed on",
          "[waiting][R8][R21][threads]") {
  PassingScene scene({patient_options(), patient_options()}, true);
  scene.first->give_up();
  CHECK(scene.second().hold().ts != scene.first->hold().ts);
}

TEST_CASE("one claim serves 64 threads at most", "[waiting][R21][threads]") {
  PassingScene scene;
  std::mutex mutex;
  std::map<Token, int> holders;
  std::vector<Fence> fences;
  boost::thread_group threads;
  for (int i = 0; i < 4; ++i) {
    threads.create_thread([&] {
      DistributedLock lock(scene.crowd.pinger, "jobs", patient_options());
      for (int round = 0; round < 100; ++round) {
        lock.lock();
        {
          const std::lock_guard guard(mutex);
          ++holders[*lock.record().ts];
          fences.push_back(lock.fence());
        }
        lock.unlock();
      }
    });
  }
  scene.first->give_up();
  scene.second().give_up();
  scene.third().give_up();
  threads.join_all();
  CHECK(fences.size() == 400);
  CHECK(std::adjacent_find(fences.begin(), fences.end(), std::greater_equal<>()) == fences.end());
  const auto most =
      std::max_element(holders.begin(), holders.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  CHECK(most->second <= 64);
}

TEST_CASE("a hold that another thread unlocks is released, not passed on",
          "[waiting][R3][R21][threads]") {
  PassingScene scene;
  const LockRecord first = scene.first->hold();
  // Its own thread may be paused in the middle of a write that asks by `ts`.
  CHECK(scene.first->lock->unlock() == UnlockResult::released);
  CHECK(scene.second().hold().ts != first.ts);
  CHECK(scene.second().hold().fence == 67);
}

TEST_CASE("a hold that was lost is not passed on", "[waiting][R9][R21][threads]") {
  PassingScene scene;
  const LockRecord first = scene.first->hold();
  REQUIRE(scene.crowd.inner->release("jobs", *first.ts) == ReleaseResult::freed);
  REQUIRE_FALSE(scene.first->lock->still_held());
  CHECK(scene.first->give_up() == UnlockResult::not_ours);
  CHECK(scene.second().hold().ts != first.ts);
}

TEST_CASE("a hold whose deadline has passed is not passed on", "[waiting][R9][R21][threads]") {
  PassingScene scene;
  const LockRecord first = scene.first->hold();
  scene.crowd.clock->advance(16min);
  scene.first->give_up();
  CHECK(scene.second().hold().ts != first.ts);
}

TEST_CASE("a hold is passed on to locks of the same options only", "[waiting][R21][threads]") {
  LockOptions other = patient_options();
  SECTION("with passing switched off") { other.pass_rule = PassRule::never; }
  SECTION("with a durable release") { other.release_rule = ReleaseRule::durable; }
  PassingScene scene({other, patient_options()});
  const LockRecord first = scene.first->hold();
  scene.first->give_up();
  CHECK(scene.third().hold().ts == first.ts);
  scene.third().give_up();
  CHECK(scene.second().hold().ts != first.ts);
}

TEST_CASE("a loss after a pass is told to the thread that has the hold",
          "[waiting][R9][R21][threads]") {
  PassingScene scene;
  const LockRecord first = scene.first->hold();
  const std::stop_token of_first = scene.first->lock->stop_token();
  scene.first->give_up();
  REQUIRE(scene.second().hold().ts == first.ts);
  const std::stop_token of_second = scene.second().lock->stop_token();
  REQUIRE(scene.crowd.inner->release("jobs", *first.ts) == ReleaseResult::freed);
  scene.crowd.pinger->ping_round();
  CHECK(scene.second().lock->lost() == LossReason::freed);
  CHECK(of_second.stop_requested());
  CHECK_FALSE(of_first.stop_requested());
  CHECK_FALSE(scene.first->lock->lost());
}

TEST_CASE("pings move the deadline of a hold on that was passed on",
          "[waiting][R9][R21][threads]") {
  PassingScene scene;
  const SteadyTime until = scene.first->lock->valid_until();
  scene.first->give_up();
  scene.second().hold();
  CHECK(scene.second().lock->valid_until() == until);
  scene.crowd.clock->advance(1min);
  scene.crowd.pinger->ping_round();
  CHECK(scene.second().lock->valid_until() >= until + 1min);
}

TEST_CASE("a round takes no hold that was passed on for a stray", "[waiting][R8][R21][threads]") {
  PassingScene scene;
  scene.first->give_up();
  scene.second().hold();
  scene.crowd.pinger->ping_round();
  scene.crowd.pinger->ping_round();
  CHECK(scene.crowd.stored().taken());
  CHECK(scene.second().lock->held());
  CHECK(scene.crowd.pinger->stats().pending_releases == 0);
}

TEST_CASE("a hold that lock_try() got is not passed on", "[waiting][R21][threads]") {
  Crowd crowd;
  DistributedLock by_try(crowd.pinger, "jobs", patient_options());
  REQUIRE(by_try.lock_try("once"));
  Candidate waiter(crowd);
  const Token first = *by_try.record().ts;
  CHECK(by_try.unlock() == UnlockResult::released);
  CHECK(waiter.hold().ts != first);
}

TEST_CASE("a stopped pinger's hold is released and not passed on", "[waiting][R12][R21][threads]") {
  PassingScene scene;
  const LockRecord first = scene.first->hold();
  scene.crowd.pinger->stop();
  CHECK(scene.first->lock->unlock(first) == UnlockResult::released);
  CHECK_FALSE(scene.crowd.stored().taken());
}
