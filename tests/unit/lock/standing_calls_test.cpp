#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "support/crowd.h"
#include "support/fleet.h"

// Which calls of the store a wait in line costs (R15, R20).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a wait in line whose looks fail asks a few times a second", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("holder").lock("jobs");
  REQUIRE(held->lock_try("first"));
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  a.store->fail("inspect", Fault::rejected, 1000);
  CHECK_FALSE(lock->try_lock_for(10s));
  CHECK(a.store->calls("inspect") < 40);
  CHECK(a.store->calls("inspect") > 5);
}

TEST_CASE("a wait from one's own release outlasts a store that fails for a moment",
          "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("first"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("claim", Fault::rejected);
  CHECK(lock->try_lock_for(10s));
}

TEST_CASE("a grant with waiters takes four calls of the store, and entering the line one",
          "[waiting][R20]") {
  const std::shared_ptr<Store> store = make_memory_store(host_clock());
  LockOptions waking_by_bell_only;
  waking_by_bell_only.recheck = 1h;
  std::vector<std::shared_ptr<FaultyStore>> stores;
  std::vector<std::unique_ptr<DistributedLock>> locks;
  for (const char* process : {"a", "b", "c", "d"}) {
    stores.push_back(std::make_shared<FaultyStore>(store));
    stores.back()->has_line = true;
    const auto pinger = std::make_shared<DistributedLockPinger>(Environment{
        .store = stores.back(), .clock = host_clock(), .process = process, .random = {}});
    pinger->ping_round();
    locks.push_back(std::make_unique<DistributedLock>(pinger, "jobs", waking_by_bell_only));
  }
  boost::thread_group threads;
  constexpr int kRounds = 50;
  for (const auto& lock : locks) {
    threads.create_thread([&, lock = lock.get()] {
      for (int round = 0; round < kRounds; ++round) {
        lock->lock();
        lock->unlock();
      }
    });
  }
  threads.join_all();
  int calls = 0;
  for (const auto& counted : stores)
    for (const char* call : {"stand", "release", "ring", "claim", "inspect", "leave"})
      calls += counted->calls(call);
  const int grants = kRounds * static_cast<int>(locks.size());
  // A thread that the machine let wait for longer than a turn costs a call more.
  CHECK(calls <= grants * (4 + 1) + grants * 3 / 4);
}

TEST_CASE("a process that has released to waiters looks before it claims again",
          "[waiting][R17][R20]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("first"));
  const bool waited_for = GENERATE(true, false);
  const Claim claim = fleet.claim_by("b", Token{{7}});
  if (waited_for) REQUIRE(fleet.store->line()->stand("jobs", claim).in_line);
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->forget_calls();
  CHECK(lock->lock_try("again") == !waited_for);
  CHECK(a.store->calls("claim") == (waited_for ? 0 : 1));
}

TEST_CASE("a thread stands as soon as the one before it has left the line, before its deadline",
          "[waiting][R17][R20][threads]") {
  const auto clock = std::make_shared<StillClock>();
  const std::shared_ptr<Store> store = make_memory_store(clock);
  const auto process = [&](const char* name) {
    const auto pinger = std::make_shared<DistributedLockPinger>(
        Environment{.store = store, .clock = clock, .process = name, .random = {}}, PingerOptions{},
        PingerDrive::caller);
    pinger->ping_round();
    return pinger;
  };
  const auto pinger = process("a");
  LockOptions options = patient_options();
  options.poll_min = options.poll_max = 2s;
  DistributedLock held(process("b"), "jobs");
  DistributedLock first(pinger, "jobs", options);
  DistributedLock second(pinger, "jobs", options);
  REQUIRE(held.lock_try("x"));
  const auto in_line = [&] {
    const auto line = store->inspect("jobs", Freshness::fresh).lock->line;
    return line.empty() ? std::nullopt : std::optional(line.front().ticket);
  };
  // It leaves the line a second before its deadline.
  auto of_first = std::async(std::launch::async, [&] { return first.try_lock_for(4s); });
  comes_to_be([&] { return in_line().has_value(); });
  const auto ticket = in_line();
  auto of_second = std::async(std::launch::async, [&] { return second.try_lock_for(1min); });
  clock->advance(3s);
  comes_to_be([&] { return in_line().value_or(*ticket) != *ticket; });
  CHECK(of_first.wait_for(0s) == std::future_status::timeout);
  clock->advance(1s);
  CHECK_FALSE(of_first.get());
  held.unlock();
  CHECK(of_second.get());
}
