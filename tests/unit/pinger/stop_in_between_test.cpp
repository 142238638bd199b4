// A stop while a lock is between two calls of the store: neither a ping nor a claim follows (R12).
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "support/fleet.h"
#include "support/pausing_clock.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A lock whose release was refused, and is left to the pinger.
std::unique_ptr<DistributedLock> with_pending_release(const Process& of, const std::string& name) {
  auto lock = of.lock(name);
  REQUIRE(lock->lock_try("x"));
  of.store->fail("release", Fault::rejected, 3);
  REQUIRE(lock->unlock() == UnlockResult::pending);
  return lock;
}

/// Another process has the lock, and `lock` of process "b", which has pinged, waits in line.
struct AtAHeldLock {
  AtAHeldLock() {
    REQUIRE(held->lock_try("x"));
    b.store->has_line = true;
    b.pinger->ping_round();
  }

  Fleet fleet;
  std::unique_ptr<DistributedLock> held = fleet.process("a").lock("balancer");
  Process b = fleet.process("b");
  std::unique_ptr<DistributedLock> lock = b.lock("balancer");
};

}  // namespace

TEST_CASE("a stop in the middle of a look lets no claim follow", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  a.store->before("inspect", [&] { a.pinger->stop(); });
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::stopped);
  CHECK(a.store->calls("claim") == 0);
}

TEST_CASE("a stop in the middle of any look lets no ping follow", "[pinger][R8][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  // Nobody knows what the first claim did, so that there are more looks, and a ping.
  a.store->fail("claim", Fault::lost_request);
  int looks = 0;
  const int stopped_in = GENERATE(1, 2, 3);
  std::function<void()> stop_in_time = [&] {
    a.store->before("inspect", stop_in_time);
    if (++looks != stopped_in) return;
    a.pinger->stop();
    a.store->forget_calls();
  };
  a.store->before("inspect", stop_in_time);
  // The second look asks what became of the claim.
  const Errc expected = stopped_in == 2 ? Errc::outcome_unknown : Errc::stopped;
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == expected);
  REQUIRE(looks >= stopped_in);
  CHECK(a.store->calls("ping") == 0);
  CHECK(a.store->calls("claim") == 0);
}

TEST_CASE("a stop before the pinger's first good ping lets none follow", "[pinger][R12][threads]") {
  const auto clock = std::make_shared<PausingClock>();
  const auto store = std::make_shared<FaultyStore>(make_memory_store(clock));
  store->fail("ping", Fault::rejected);
  const auto pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = store, .clock = clock});
  DistributedLock lock(pinger, "balancer");
  clock->thread = std::this_thread::get_id();
  clock->then = [&] {
    pinger->stop();
    store->forget_calls();
  };
  clock->go();
  CHECK(thrown_by([&] { return lock.lock_try("x"); }) == Errc::stopped);
  REQUIRE(clock->thread == std::thread::id());
  CHECK(store->calls() == 0);
}

TEST_CASE("a stop in the middle of a lock's own ping lets no claim follow", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->before("ping", [&] { a.pinger->stop(); });
  SECTION("of lock_try()") {
    CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::stopped);
  }
  SECTION("of a wait in line") {
    a.store->has_line = true;
    CHECK(thrown_by([&] { return lock->try_lock_for(60s); }) == Errc::stopped);
  }
  CHECK(a.store->calls("claim") + a.store->calls("stand") == 0);
}

TEST_CASE("a stop in the middle of a release before a claim lets no other call follow",
          "[pinger][R7][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto pending = with_pending_release(a, "pending");
  const auto another = with_pending_release(a, "pending as well");
  const auto lock = a.lock("balancer");
  fleet.clock->advance(10min);
  // Where it is long, the claim would ask for another ping.
  const auto pause = GENERATE(0min, 10min);
  a.store->before("release", [&] {
    fleet.clock->advance(pause);
    a.pinger->stop();
    a.store->forget_calls();
  });
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::stopped);
  CHECK(a.store->calls() == 0);
}

TEST_CASE("a claim during a stop's last calls is refused", "[pinger][R12][threads]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  std::promise<void> in_farewell;
  std::promise<void> go_on;
  a.store->before("remove_ping", [&] {
    in_farewell.set_value();
    go_on.get_future().wait();
  });
  boost::thread stopper;
  // It was let in before the stop, and claims when the ping is about to be removed.
  a.store->before("inspect", [&] {
    stopper = boost::thread([&] { a.pinger->stop(); });
    in_farewell.get_future().wait();
  });
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::stopped);
  CHECK(a.store->calls("claim") == 0);
  go_on.set_value();
  stopper.join();
}

TEST_CASE("a stop in the middle of claiming an old hold anew leaves nothing taken",
          "[pinger][R9][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(false, true);
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  a.store->before("ping", [&] { a.pinger->stop(); });
  SECTION("by reclaim()") {
    CHECK(thrown_by([&] { return lock->reclaim("y"); }) == Errc::stopped);
  }
  SECTION("by lock_try()") {
    CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::stopped);
  }
  SECTION("by a wait") {
    CHECK(thrown_by([&] { return lock->try_lock_for(1min); }) == Errc::stopped);
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
  CHECK(a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a stop in the middle of a step that fails gives the place up", "[waiting][R12][R17]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->has_line = true;
  const auto lock = b.lock("balancer");
  // The first look finds it in line, and the second one fails.
  b.store->before("inspect", [&] {
    REQUIRE(fleet.stored("balancer").line.size() == 1);
    b.store->before("inspect", [&] {
      b.store->fail("inspect", Fault::rejected);
      b.pinger->stop();
    });
  });
  CHECK(thrown_by([&] { return lock->try_lock_for(1min); }) == Errc::stopped);
  CHECK(fleet.stored("balancer").line.empty());
}

TEST_CASE("a stop ends the pause of a wait, in line or polling", "[waiting][R12][R15]") {
  struct StoppingClock : ManualClock {
    bool wait_until(SteadyTime until, const std::stop_token& stop) override {
      if (at_pause && until >= from) {
        std::exchange(at_pause, nullptr)();
        woken = stop.stop_requested();
      }
      return ManualClock::wait_until(until, stop);
    }
    std::function<void()> at_pause;
    SteadyTime from;
    bool woken = false;
  };
  Fleet fleet;
  const auto clock = std::make_shared<StoppingClock>();
  fleet.clock = clock;
  fleet.store = make_memory_store(clock, {});
  const auto a = fleet.process("a");
  const auto b = fleet.process("b");
  a.store->has_line = GENERATE(true, false);
  const auto held = b.lock("jobs");
  REQUIRE(held->lock_try("long"));
  const auto lock = a.lock("jobs", {.poll_min = 1h, .poll_max = 1h});
  const auto limit = GENERATE(1ms, 100h);
  // From shortly before the deadline on it only rests.
  clock->from = clock->steady_now() + (limit == 1ms ? 1ms : 0ms);
  clock->at_pause = [&] { a.pinger->stop(); };
  CHECK(thrown_by([&] { return lock->try_lock_for(limit); }) == Errc::stopped);
  CHECK(clock->woken);
}

TEST_CASE("a wait that ends after a stop frees what it left, and nothing of other locks",
          "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto other = with_pending_release(a, "other");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  a.store->fail("release", Fault::rejected);  // In the farewell.
  a.store->before("ping", [&] {
    a.pinger->stop();
    a.store->forget_calls();
  });
  CHECK(thrown_by([&] { return lock->try_lock_for(1min); }) == Errc::stopped);
  CHECK_FALSE(fleet.stored("balancer").taken());
  CHECK(a.store->calls("release") == 1);
}

TEST_CASE("a wait that is over calls no store after a stop", "[pinger][R12][R15]") {
  AtAHeldLock scene;
  Fleet& fleet = scene.fleet;
  const Process& b = scene.b;
  DistributedLock* const lock = scene.lock.get();
  const bool by_deadline = GENERATE(true, false);
  std::stop_source stop;
  b.store->fail("stand", Fault::lost_request);
  b.store->before("stand", [&] {
    if (by_deadline) {
      fleet.clock->advance(2min);
    } else {
      stop.request_stop();
    }
    b.pinger->stop();
    b.store->forget_calls();
  });
  (void)thrown_by([&] { return lock->try_lock_for(1min, stop.get_token()); });
  CHECK(b.store->calls() == 0);
}

TEST_CASE("a wait that a stop ends begins no call at its deadline or later", "[pinger][R12][R15]") {
  AtAHeldLock scene;
  Fleet& fleet = scene.fleet;
  const Process& b = scene.b;
  DistributedLock* const lock = scene.lock.get();
  b.store->fail("stand", Fault::lost_request);
  b.store->before("stand", [&] {
    b.pinger->stop();
    b.store->forget_calls();
    b.store->before("release", [&] { fleet.clock->advance(2s); });
  });
  (void)thrown_by([&] { return lock->try_lock_for(1s); });
  CHECK(b.store->calls("release") == 1);
  CHECK(b.store->calls() == 1);  // The place is left to others, who pass it over.
}

TEST_CASE("a wait that a stop ends rings for nobody once it is over", "[pinger][R12][R15][R19]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(fleet.store->line()->stand("balancer", fleet.claim_by("b", Token{{8}})).in_line);
  fleet.clock->advance(16min);
  a.store->before("ping", [&] {
    a.pinger->stop();
    a.store->forget_calls();
    a.store->after("release", [&] { fleet.clock->advance(2s); });
  });
  CHECK(thrown_by([&] { return lock->try_lock_for(1s); }) == Errc::stopped);
  CHECK_FALSE(fleet.stored("balancer").taken());
  CHECK(a.store->calls() == 1);
}
