#include "pinger/lobby.h"

#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "support/faulty_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a thread that ends its wait wakes the one behind it", "[waiting][R17][R19]") {
  Lobby lobby(make_memory_store(), "a");
  auto first = std::make_unique<Lobby::Place>(lobby, "jobs");
  const Lobby::Place second(lobby, "jobs");
  const Lobby::Place elsewhere(lobby, "other");
  const std::stop_token woken = second.wake().arm();
  const std::stop_token not_woken = elsewhere.wake().arm();
  CHECK(first->first());
  CHECK_FALSE(second.first());
  first.reset();
  CHECK(second.first());
  CHECK(woken.stop_requested());
  CHECK_FALSE(not_woken.stop_requested());
}

TEST_CASE("a thread that steps aside lets the next go first, and is rung with it",
          "[waiting][R19][R20]") {
  Lobby lobby(make_memory_store(), "a");
  Lobby::Place aside(lobby, "jobs");
  Lobby::Place second(lobby, "jobs");
  const Lobby::Place third(lobby, "jobs");
  const std::stop_token second_woken = second.wake().arm();
  aside.step_aside();
  CHECK(second_woken.stop_requested());
  CHECK(second.first());
  CHECK_FALSE(third.first());

  second.stand();
  const std::stop_token aside_rung = aside.wake().arm();
  const std::stop_token second_rung = second.wake().arm();
  const std::stop_token third_rung = third.wake().arm();
  lobby.ring("jobs");
  CHECK(aside_rung.stop_requested());
  CHECK(second_rung.stop_requested());
  CHECK_FALSE(third_rung.stop_requested());

  // Back at the front while the second stands: a ring of the bell may be for either.
  CHECK(aside.first());
  aside.stand();
  const std::stop_token second_rung_again = second.wake().arm();
  lobby.ring("jobs");
  CHECK(second_rung_again.stop_requested());
}

TEST_CASE("the end of a wait asks no thread that stands in line to ask the store again",
          "[waiting][R20]") {
  Lobby lobby(make_memory_store(), "a");
  Lobby::Place standing(lobby, "jobs");
  auto behind = std::make_unique<Lobby::Place>(lobby, "jobs");
  Lobby::Place aside(lobby, "jobs");
  standing.stand();
  aside.step_aside();
  const std::stop_token standing_rung = standing.wake().arm();
  const std::stop_token aside_rung = aside.wake().arm();
  SECTION("of one that did not stand itself") {
    behind.reset();
    CHECK_FALSE(standing_rung.stop_requested());
  }
  SECTION("but of one that stood in front of it, perhaps") {
    behind->stand();
    behind.reset();
    CHECK(standing_rung.stop_requested());
  }
  CHECK(aside_rung.stop_requested());
}

TEST_CASE("a ring for the others leaves those that stand in line", "[waiting][R20][R21]") {
  Lobby lobby(make_memory_store(), "a");
  Lobby::Place standing(lobby, "jobs");
  const Lobby::Place of_others(lobby, "jobs", Judging{1});
  standing.stand();
  const std::stop_token standing_rung = standing.wake().arm();
  const std::stop_token others_rung = of_others.wake().arm();
  lobby.ring_others("jobs");
  CHECK_FALSE(standing_rung.stop_requested());
  CHECK(others_rung.stop_requested());
}

TEST_CASE("of the threads that judge alike only the first stands, and it is rung",
          "[waiting][R19][R20]") {
  Lobby lobby(make_memory_store(), "a");
  const Judging slow{1};
  const Judging quick{2};
  auto slow_first = std::make_unique<Lobby::Place>(lobby, "jobs", slow);
  const Lobby::Place slow_second(lobby, "jobs", slow);
  auto quick_first = std::make_unique<Lobby::Place>(lobby, "jobs", quick);
  const Lobby::Place quick_second(lobby, "jobs", quick);
  CHECK(slow_first->first());
  CHECK(quick_first->first());
  CHECK_FALSE(slow_second.first());
  CHECK_FALSE(quick_second.first());

  const auto rung = [&](const std::function<void()>& action) {
    const std::stop_token of_slow = slow_second.wake().arm();
    const std::stop_token of_quick = quick_second.wake().arm();
    action();
    return std::pair(of_slow.stop_requested(), of_quick.stop_requested());
  };
  const std::stop_token of_first = quick_first->wake().arm();
  CHECK(rung([&] { lobby.ring("jobs"); }) == std::pair(false, false));
  CHECK(of_first.stop_requested());
  CHECK(rung([&] { quick_first.reset(); }) == std::pair(false, true));
  CHECK(rung([&] { slow_first.reset(); }) == std::pair(true, true));
}

TEST_CASE("threads that wait for one lock share their patience with the store",
          "[waiting][R15][R20]") {
  Lobby lobby(make_memory_store(), "a");
  const SteadyTime since{5s};
  auto first = std::make_unique<Lobby::Place>(lobby, "jobs");
  Lobby::Place second(lobby, "jobs");
  const Lobby::Place elsewhere(lobby, "other");
  CHECK_FALSE(second.failing());
  first->store_failed({since, since, Error(Errc::not_applied, "away")});
  first.reset();
  REQUIRE(second.failing());
  CHECK(second.failing()->since == since);
  CHECK(second.failing()->error.errc() == Errc::not_applied);
  CHECK_FALSE(elsewhere.failing());
  Lobby::Place judges_otherwise(lobby, "jobs", {1});
  CHECK_FALSE(judges_otherwise.failing());
  judges_otherwise.store_answered();
  CHECK(second.failing());
  second.store_answered();
  CHECK_FALSE(second.failing());
}

TEST_CASE("a thread whose object is not free holds up no thread with another object",
          "[waiting][R20][threads]") {
  const auto store = make_memory_store();
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  const LockOptions patient{.recheck = 1h};
  DistributedLock lost(pinger, "jobs", patient);
  DistributedLock free(pinger, "jobs", patient);
  REQUIRE(lost.lock_try("x"));
  REQUIRE(store->release("jobs", *lost.record().ts) == ReleaseResult::freed);
  REQUIRE_FALSE(lost.still_held());

  // Told that it waits, it is in the queue.
  std::promise<void> waits;
  lost.on_waiting([&](const WaitReport&) { waits.set_value(); });
  std::stop_source stop;
  auto behind_lost = std::async(std::launch::async, [&] { return lost.lock(stop.get_token()); });
  waits.get_future().wait();
  auto other = std::async(std::launch::async, [&] { return free.lock(stop.get_token()); });
  CHECK(other.wait_for(30s) == std::future_status::ready);
  CHECK(free.unlock() == UnlockResult::released);
  lost.unlock();
  CHECK(behind_lost.wait_for(30s) == std::future_status::ready);
  stop.request_stop();
}

TEST_CASE("a release wakes a waiter of its own process", "[waiting][R19][threads]") {
  const auto store = make_memory_store();
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  const LockOptions patient{.recheck = 1h};
  DistributedLock holder(pinger, "jobs", patient);
  DistributedLock waiter(pinger, "jobs", patient);
  REQUIRE(holder.lock_try("x"));
  std::stop_source stop;
  auto got = std::async(std::launch::async, [&] { return waiter.lock(stop.get_token()); });
  while (store->inspect("jobs", Freshness::fresh).lock->line.empty()) std::this_thread::yield();
  REQUIRE(holder.unlock() == UnlockResult::released);
  CHECK(got.wait_for(30s) == std::future_status::ready);
  stop.request_stop();
}

TEST_CASE("a release that a round makes good wakes the waiter that is next",
          "[waiting][R8][R19][threads]") {
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  store->has_line = true;
  const LockOptions patient{.recheck = 1h};
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                              PingerOptions{}, PingerDrive::caller);
  DistributedLock holder(pinger, "jobs", patient);
  REQUIRE(holder.lock_try("x"));
  std::stop_source stop;
  const auto waits = [&](const std::shared_ptr<DistributedLockPinger>& process) {
    return std::async(std::launch::async, [&stop, &patient, process] {
      return DistributedLock(process, "jobs", patient).lock(stop.get_token());
    });
  };
  const bool of_another = GENERATE(false, true);
  auto waiting = pinger;
  if (of_another) waiting = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  std::future<bool> got = waits(waiting);
  while (store->inspect("jobs", Freshness::fresh).lock->line.empty()) std::this_thread::yield();
  store->fail("release", Fault::rejected, 3);
  REQUIRE(holder.unlock() == UnlockResult::pending);
  pinger->ping_round();
  if (of_another) pinger->ring_round();
  CHECK(got.wait_for(30s) == std::future_status::ready);
  stop.request_stop();
}
