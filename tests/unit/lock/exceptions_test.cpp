// Exceptions that are no Error, and interrupted threads.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <future>
#include <memory>
#include <stdexcept>

#include "support/fleet.h"
#include "support/forked_child.h"
#include "support/known_free.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

/// Runs the action in a child, since a broken noexcept ends the process.
int status_of_child(const std::function<void()>& action) {
  return answer_of_child([&] { return action(), 0; });
}

}  // namespace

// A claim that was applied, and an exception that is no Error.
TEST_CASE("a claim that ends in another exception is freed later", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");

  SECTION("of the claim itself") {
    a.store->after("claim", [] { throw std::bad_alloc(); });
  }
  SECTION("of its read-back") {
    make_known_free(*lock);
    a.store->fail("claim", Fault::lost_reply);
    a.store->before("inspect", [] { throw std::bad_alloc(); });
  }

  CHECK_THROWS(lock->lock_try("x"));
  CHECK_FALSE(lock->held());
  CHECK(a.pinger->stats().pending_releases == 1);
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("an interrupted thread does not forget its claim", "[lock][R8]") {
  const auto inner = make_memory_store(host_clock(), {.call_limit = 200ms});
  const auto store = std::make_shared<FaultyStore>(inner);
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                              PingerOptions{.ping_every = 20ms});
  DistributedLock lock(pinger, "balancer", {.takeover_after = 1min});
  make_known_free(lock);
  // The claim is delayed; the thread waits for its cutoff and is interrupted there.
  store->fail("claim", Fault::delayed);
  boost::thread claimer([&] {
    try {
      (void)lock.lock_try("y");
    } catch (...) {
    }
  });
  while (store->calls("inspect") < 2) boost::this_thread::yield();
  claimer.interrupt();
  store->deliver();
  claimer.join();
  const auto until = host_clock()->steady_now() + 60s;
  bool freed = false;
  while (!freed && !lock.held() && host_clock()->steady_now() < until) {
    freed = !inner->inspect("balancer", Freshness::fresh).lock->taken();
    boost::this_thread::yield();
  }
  CHECK((freed || lock.held()));
}

TEST_CASE("unlock() survives any exception of a store", "[lock][R11]") {
  CHECK(status_of_child([] {
          Fleet fleet;
          const auto a = fleet.process("a");
          const auto lock = a.lock("balancer");
          if (!lock->lock_try("x")) _exit(1);
          a.store->before("release", [] { throw std::bad_alloc(); });
          if (lock->unlock() != UnlockResult::released) _exit(2);
          if (fleet.stored("balancer").taken()) _exit(3);
        }) == 0);
}

TEST_CASE("unlock() of an interrupted thread does not end the program", "[lock][R11]") {
  CHECK(status_of_child([] {
          const auto store = std::make_shared<FaultyStore>(make_memory_store());
          const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
          DistributedLock lock(pinger, "balancer");
          if (!lock.lock_try("x")) _exit(1);
          store->fail("release", Fault::rejected, 1);
          boost::thread worker([&] { lock.unlock(); });
          worker.interrupt();
          worker.join();
        }) == 0);
}

TEST_CASE("the last lock of an interrupted thread does not end the program", "[lock][R12]") {
  CHECK(status_of_child([] {
          boost::thread worker([] {
            DistributedLock lock(
                std::make_shared<DistributedLockPinger>(Environment{.store = make_memory_store()}),
                "balancer");
            if (!lock.lock_try("x")) _exit(1);
            while (!boost::this_thread::interruption_requested()) boost::this_thread::yield();
          });
          worker.interrupt();
          worker.join();
        }) == 0);
}

TEST_CASE("a lock that an interrupted thread destroys waits for its callback",
          "[lock][R9][R11][threads]") {
  CHECK(status_of_child([] {
          const auto store = std::make_shared<FaultyStore>(make_memory_store());
          const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
          auto lock = std::make_unique<DistributedLock>(pinger, "balancer");
          std::promise<void> called;
          std::atomic<bool> unlocked = false;
          std::atomic<bool> told = false;
          lock->on_lost([&](LossReason) {
            called.set_value();
            while (!unlocked) boost::this_thread::yield();
            // By then the destructor waits.
            for (int i = 0; i < 1000; ++i) boost::this_thread::yield();
            told = true;
          });
          if (!lock->lock_try("x")) _exit(1);
          if (store->release("balancer", *lock->record().ts) != ReleaseResult::freed) _exit(2);
          if (lock->still_held()) _exit(3);
          called.get_future().wait();
          store->before("release", [&] { unlocked = true; });
          boost::thread worker([&] { lock.reset(); });
          worker.interrupt();
          worker.join();
          if (!told) _exit(4);
        }) == 0);
}

TEST_CASE("a round survives any exception of a store", "[pinger][R12]") {
  CHECK(status_of_child([] {
          Fleet fleet;
          const auto a = fleet.process("a");
          a.store->before("ping", [] { throw 7; });
          a.pinger->ping_round();
        }) == 0);
}

TEST_CASE("the chores of a round survive any exception of a store", "[pinger][R12]") {
  const bool at_the_list = GENERATE(true, false);
  CHECK(status_of_child([&] {
          Fleet fleet;
          const auto a = fleet.process("a");
          a.store->before(at_the_list ? "holds" : "forget_pings", [] { throw 7; });
          a.pinger->ping_round();
          if (a.store->calls("forget_pings") != 1) _exit(1);
        }) == 0);
}
