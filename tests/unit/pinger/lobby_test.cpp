#include "pinger/lobby.h"

#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"

using namespace distlock;
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
