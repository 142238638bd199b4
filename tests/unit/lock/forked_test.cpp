// Lock objects of before a fork, in the child (R16).
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <latch>

#include "distlock/distributed_lock.h"
#include "support/fleet.h"
#include "support/forked_child.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("in a forked child the parent's lock refuses every call", "[lock][R16]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(answer_of_child([&] {
          if (lock->held()) return 1;
          if (lock->valid_until() != SteadyTime::min()) return 2;
          if (lock->remaining() != 0s) return 3;
          if (!says_forked([&] { lock->check(); })) return 4;
          if (!says_forked([&] { (void)lock->still_held(); })) return 5;
          if (!says_forked([&] { (void)lock->record(); })) return 6;
          if (!says_forked([&] { (void)lock->lost(); })) return 7;
          if (!says_forked([&] { lock->on_lost({}); })) return 8;
          if (!says_forked([&] { lock->on_at_risk({}); })) return 9;
          if (!says_forked([&] { (void)lock->stop_token(); })) return 10;
          if (!says_forked([&] { lock->on_waiting({}); })) return 11;
          if (!says_forked([&] { (void)lock->lock_try("y"); })) return 12;
          if (!says_forked([&] { (void)lock->reclaim("y"); })) return 13;
          if (!says_forked([&] { (void)lock->try_lock_for(1s); })) return 14;
          if (!says_forked([&] { DistributedLock(a.pinger, "another"); })) return 15;
          if (lock->unlock() != UnlockResult::not_ours) return 16;
          lock.reset();
          return 0;
        }) == 0);
  CHECK(lock->still_held());
}

TEST_CASE("a child that is forked when a wait is told leaves the wait at once, without a call",
          "[waiting][R15][R16][forks]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("jobs");
  REQUIRE(held->lock_try("x"));
  a.store->has_line = GENERATE(true, false);
  const bool behind = a.store->has_line && GENERATE(true, false);
  const auto other = a.lock("jobs");
  DistributedLock& waits = behind ? *held : *other;
  pid_t child = -1;
  SteadyTime told;
  int calls = 0;
  waits.on_waiting([&](const WaitReport&) {
    told = fleet.clock->steady_now();
    calls = a.store->calls();
    child = fork();
    if (child == 0) alarm(60);
  });
  const auto wait = [&] {
    const auto failure = thrown_by([&] { return waits.try_lock_for(1min); });
    if (child != 0) return;
    const bool left = failure == Errc::forked && fleet.clock->steady_now() == told;
    leave(left && a.store->calls() == calls ? 0 : 1);
  };
  if (behind) boost::thread(wait).join();
  if (!behind) wait();
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a forked child destroys a lock though a callback of it runs in the parent",
          "[lock][lifetime][R16][threads][forks]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  std::latch runs(1);
  std::latch go_on(1);
  lock->on_lost([&](LossReason) {
    runs.count_down();
    go_on.wait();
  });
  fleet.store->release("jobs", *lock->record().ts);
  boost::thread telling([&] { a.pinger->ping_round(); });
  runs.wait();
  const int answer = answer_of_child(
      [&] {
        lock.reset();
        return 0;
      },
      10);
  go_on.count_down();
  telling.join();
  CHECK(answer == 0);
}
