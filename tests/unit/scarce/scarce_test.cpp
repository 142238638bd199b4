// Where the system has no more threads, or no more memory.
#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "support/captured_log.h"
#include "support/crowd.h"
#include "support/faulty_store.h"
#include "support/fleet.h"
#include "unit/scarce/scarcity.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

struct World {
  std::unique_ptr<DistributedLock> held(const std::string& name, const LockOptions& options = {}) {
    auto lock = std::make_unique<DistributedLock>(pinger, name, options);
    if (!lock->lock_try("x")) throw std::runtime_error("it is busy");
    return lock;
  }
  /// Behind its holder's back. The pinger notices within milliseconds.
  void lose(const DistributedLock& lock) { inner->release(lock.name(), *lock.record().ts); }

  std::shared_ptr<Store> inner = make_memory_store(host_clock(), {.call_limit = 100ms});
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(inner);
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store}, PingerOptions{.ping_every = 1ms});
};

}  // namespace

TEST_CASE("a pinger that gets no thread is an error, and has sent nothing",
          "[scarce][pinger][R12][threads]") {
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  for (int left = 0; left < 4; ++left) {
    const ThreadsLeft few(left);
    try {
      DistributedLockPinger pinger(Environment{.store = store});
      FAIL("it got its threads");
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::not_applied);
      CHECK_THAT(error.what(),
                 Catch::Contains("needs five threads") && Catch::Contains(std::strerror(EAGAIN)));
    }
    CHECK(store->calls() == 0);
    CHECK(store.use_count() == 1);
  }
  CHECK_NOTHROW(DistributedLockPinger(Environment{.store = store}));
}

TEST_CASE("where no thread can be had, a callback that blocks holds up no token",
          "[scarce][lifetime][R9][threads]") {
  World world;
  const ThreadsLeft none(0);
  std::promise<void> go_on;
  std::promise<void> blocks;
  const auto held_up = go_on.get_future().share();
  const auto blocked = world.held("blocked");
  blocked->on_lost([&](LossReason) {
    blocks.set_value();
    held_up.wait();
  });
  world.lose(*blocked);
  blocks.get_future().wait();

  std::atomic<int> told = 0;
  std::vector<std::unique_ptr<DistributedLock>> others;
  std::vector<std::stop_token> tokens;
  for (int i = 0; i < 50; ++i) {
    others.push_back(world.held("lock" + std::to_string(i)));
    others.back()->on_lost([&](LossReason) { ++told; });
    tokens.push_back(others.back()->stop_token());
  }
  for (const auto& other : others) world.lose(*other);
  CHECK(comes_true([&] {
    return std::all_of(tokens.begin(), tokens.end(),
                       [](const auto& token) { return token.stop_requested(); });
  }));
  // The destructor runs what waits, and so waits for no other lock's callback.
  others.pop_back();
  CHECK(told == 1);
  go_on.set_value();
  CHECK(comes_true([&] { return told == 50; }));
}

TEST_CASE("a callback that waits for a thread runs as soon as one can be had",
          "[scarce][lifetime][R9][threads]") {
  World world;
  std::promise<void> go_on;
  const auto held_up = go_on.get_future().share();
  std::promise<void> blocks;
  std::promise<void> told;
  const auto blocked = world.held("blocked");
  const auto other = world.held("other");
  {
    const ThreadsLeft none(0);
    blocked->on_lost([&](LossReason) {
      blocks.set_value();
      held_up.wait();
    });
    other->on_lost([&](LossReason) { told.set_value(); });
    world.lose(*blocked);
    blocks.get_future().wait();
    const int refusals = ThreadsLeft::refusals();
    world.lose(*other);
    // Asked for over and over.
    REQUIRE(comes_true([&] { return ThreadsLeft::refusals() > refusals + 4; }));
  }
  CHECK(told.get_future().wait_for(60s) == std::future_status::ready);
  go_on.set_value();
}

TEST_CASE("where no thread can be had, a callback may destroy the last lock",
          "[scarce][lifetime][R9][threads]") {
  for (int i = 0; i < 20; ++i) {
    auto world = std::make_unique<World>();
    const auto inner = world->inner;
    const ThreadsLeft none(0);
    auto lock = world->held("balancer");
    std::promise<void> destroyed;
    boost::barrier alone(2);
    lock->on_lost([&](LossReason) {
      alone.wait();
      lock.reset();
      destroyed.set_value();
    });
    world->lose(*lock);
    world.reset();
    alone.wait();
    destroyed.get_future().wait();
    CHECK_FALSE(inner->inspect("balancer", Freshness::fresh).lock->taken());
  }
}

TEST_CASE("a watch that gets no memory announces a loss, and a warning when there is some",
          "[scarce][lifetime][R9][threads]") {
  World world;
  std::promise<LossReason> lost;
  std::promise<void> warned;
  std::promise<void> other_lost;
  const auto lock = world.held("balancer", {.takeover_after = 1s});
  const auto other = world.held("other", {.takeover_after = 12s});
  lock->on_lost([&](LossReason reason) { lost.set_value(reason); });
  lock->on_at_risk([](SteadyTime) {});
  const auto stop = lock->stop_token();
  other->on_at_risk([&](SteadyTime) { warned.set_value(); });
  other->on_lost([&](LossReason) { other_lost.set_value(); });
  auto warning = warned.get_future();
  {
    const NoMemoryFor watch("LockWatch");
    world.store->fail("ping", Fault::rejected, 1'000'000);
    auto reason = lost.get_future();
    REQUIRE(reason.wait_for(60s) == std::future_status::ready);
    CHECK(reason.get() == LossReason::deadline_passed);
    CHECK(stop.stop_requested());
    // Half of its 9 s.
    const auto at_risk = other->valid_until() - 4400ms;
    REQUIRE(comes_true([&] { return host_clock()->steady_now() > at_risk; }));
    CHECK(warning.wait_for(0s) == std::future_status::timeout);
    CHECK(NoMemoryFor::refusals() > 0);
  }
  CHECK(warning.wait_for(60s) == std::future_status::ready);
  CHECK(other_lost.get_future().wait_for(60s) == std::future_status::ready);
}

TEST_CASE("a member's call that gets no memory fails by itself, and ends no process",
          "[scarce][mirrored][M2]") {
  std::vector<std::shared_ptr<FaultyStore>> members;
  for (int i = 0; i < 3; ++i) {
    members.push_back(std::make_shared<FaultyStore>(make_memory_store(host_clock(), {})));
  }
  const auto store = make_mirrored_store({members[0], members[1], members[2]});
  REQUIRE(store->list().locks.empty());
  const auto starve = [] { pthread_setname_np(pthread_self(), "starving"); };
  std::function<void()> at_list = starve;
  SECTION("for its answer") {}
  SECTION("to say that its store was replaced") {
    const Error replaced(Errc::store_replaced, "a text that is too long for any short string");
    at_list = [=] {
      starve();
      throw replaced;
    };
  }
  members[1]->before("list", at_list);
  const NoMemoryFor member("starving");
  CHECK(store->list().locks.empty());
  CHECK(NoMemoryFor::refusals() > 0);
}

TEST_CASE("rounds of pings that get no memory end no process, and the next ones do their work",
          "[scarce][pinger][R12][threads]") {
  World world;
  const auto lock = world.held("balancer");
  const auto other = world.held("other");
  {
    const NoMemoryFor pings("LockPinger");
    const int before = world.store->calls("ping");
    REQUIRE(comes_true([&] { return NoMemoryFor::refusals() > 100; }));
    CHECK(world.store->calls("ping") >= before);
    CHECK_FALSE(lock->lost());
  }
  world.lose(*lock);
  CHECK(comes_true([&] { return lock->lost().has_value(); }));
  CHECK(other->held());
}

TEST_CASE("the log says that callbacks wait for want of a thread",
          "[scarce][log][lifetime][R9][threads]") {
  Captured log;
  set_log_level(LogLevel::error);
  World world;
  std::promise<void> go_on;
  std::promise<void> blocks;
  const auto held_up = go_on.get_future().share();
  const auto blocked = world.held("blocked");
  const auto other = world.held("other");
  {
    const ThreadsLeft none(0);
    blocked->on_lost([&](LossReason) {
      blocks.set_value();
      held_up.wait();
    });
    other->on_lost([](LossReason) {});
    world.lose(*blocked);
    blocks.get_future().wait();
    world.lose(*other);
    CHECK(comes_true([&] {
      return log.count(severity_level::error, "no thread to be had for callbacks of ") > 0;
    }));
  }
  go_on.set_value();
}
