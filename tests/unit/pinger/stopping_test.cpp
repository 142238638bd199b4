#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>

#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a clean stop removes the ping when nothing is held", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));

  SECTION("and not while a lock is") {
    a.pinger->stop();
    CHECK(fleet.store->list().pings.size() == 1);
  }
  SECTION("nor while a release is pending") {
    a.store->fail("release", Fault::rejected, 4);
    REQUIRE(lock->unlock() == UnlockResult::pending);
    a.pinger->stop();
    CHECK(fleet.store->list().pings.size() == 1);
  }
  SECTION("after a last try of what is pending") {
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(lock->unlock() == UnlockResult::pending);
    a.pinger->stop();
    CHECK_FALSE(fleet.stored("balancer").taken());
    CHECK(fleet.store->list().pings.empty());
  }
  SECTION("nothing held") {
    REQUIRE(lock->unlock() == UnlockResult::released);
    a.pinger->stop();
    CHECK(fleet.store->list().pings.empty());
    a.store->forget_calls();
    a.pinger->stop();
    CHECK(a.store->calls() == 0);
  }
}

TEST_CASE("a stop works off all that is pending, and leaves the rest to takeover",
          "[pinger][R8][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  std::vector<std::unique_ptr<DistributedLock>> locks;
  for (int i = 0; i < 10; ++i) {
    locks.push_back(a.lock("lock" + std::to_string(i)));
    REQUIRE(locks.back()->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(locks.back()->unlock() == UnlockResult::pending);
  }
  const auto taken = [&] {
    const auto all = fleet.store->list().locks;
    return std::count_if(all.begin(), all.end(),
                         [](const auto& lock) { return lock.record->taken(); });
  };

  SECTION("all, if the store answers") {
    a.pinger->stop();
    CHECK(taken() == 0);
    CHECK(fleet.store->list().pings.empty());
  }
  SECTION("not the rest, if it does not") {
    int released = 0;
    std::function<void()> fail_after_three = [&] {
      if (++released == 4) a.store->fail("release", Fault::lost_request, 100);
      a.store->before("release", fail_after_three);
    };
    a.store->before("release", fail_after_three);
    a.pinger->stop();
    CHECK(taken() == 7);
    CHECK(fleet.store->list().pings.size() == 1);
    fleet.clock->advance(16min);
    CHECK(fleet.process("b").lock("lock9")->lock_try("y"));
    a.store->before("release", {});
  }
}

TEST_CASE("a stopped pinger's locks claim nothing", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->stop();
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::stopped);
  CHECK(a.store->calls("claim") == 0);
  CHECK(a.store->calls("ping") == 0);
}

TEST_CASE("a stop in the middle of a claim leaves its ping", "[pinger][R7][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->before("claim", [&] { a.pinger->stop(); });
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.store->list().pings.size() == 1);
}

TEST_CASE("a stop while a claim may still arrive leaves the ping", "[pinger][R7][R8][R12]") {
  Fleet fleet;
  fleet.store = make_memory_store(std::make_shared<ManualClock>());  // no cutoff passes
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("claim", Fault::delayed);
  a.store->fail("inspect", Fault::rejected, 2);
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  a.pinger->stop();
  a.store->deliver();
  REQUIRE(fleet.stored("balancer").taken());
  CHECK(fleet.store->list().pings.size() == 1);
}

TEST_CASE("a stop leaves the ping while a claim past its cutoff may still be written",
          "[pinger][R7][R8][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->fail("claim", Fault::delayed);
  REQUIRE(lock->lock_try("the second claim, since the first is not there"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.pinger->stop();
  CHECK(a.store->calls("remove_ping") == 0);
}

TEST_CASE("a stop in the middle of a release that fails leaves the ping", "[pinger][R7][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 3);
  a.store->before("release", [&] { a.pinger->stop(); });
  REQUIRE(lock->unlock() == UnlockResult::pending);
  CHECK(fleet.store->list().pings.size() == 1);
}

TEST_CASE("a process that never pinged removes no ping", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.pinger->stop();
  CHECK(a.store->calls() == 0);
}

TEST_CASE("after a stop no call reaches the store", "[pinger][R12]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto lock = b.lock("balancer");
  b.pinger->ping_round();

  SECTION("of lock_try()") {
    b.pinger->stop();
    b.store->forget_calls();
    CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::stopped);
  }
  SECTION("of a wait") {
    b.store->before("inspect", [&] {
      b.pinger->stop();
      b.store->forget_calls();
    });
    CHECK(thrown_by([&] { return lock->try_lock_for(60s); }) == Errc::stopped);
  }
  SECTION("of a wait in line, but for giving its place up") {
    b.store->has_line = true;
    b.store->before("inspect", [&] {
      b.pinger->stop();
      CHECK(held->unlock() == UnlockResult::released);
      b.store->forget_calls();
    });
    CHECK(thrown_by([&] { return lock->try_lock_for(60s); }) == Errc::stopped);
    CHECK(fleet.stored("balancer").line.empty());
    CHECK(b.store->calls() == b.store->calls("leave"));
    b.store->forget_calls();
  }
  SECTION("of a round") {
    b.pinger->stop();
    b.store->forget_calls();
    b.pinger->ping_round();
    CHECK(fleet.store->list().pings.size() == 1);
  }

  CHECK(b.store->calls() == 0);
}

TEST_CASE("every stop() returns when no call is under way any more", "[pinger][R12]") {
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  std::atomic<bool> removing{false};
  std::atomic<bool> removed{false};
  std::atomic<bool> go_on{false};
  DistributedLock lock(pinger, "balancer");
  make_known_free(lock);
  store->before("remove_ping", [&] {
    removing = true;
    while (!go_on) boost::this_thread::yield();
    removed = true;
  });
  boost::thread first([&] { pinger->stop(); });
  while (!removing) boost::this_thread::yield();
  bool was_removed = false;
  boost::thread second([&] {
    pinger->stop();
    was_removed = removed;
  });
  // A second stop() that waits cannot end before this.
  second.try_join_for(boost::chrono::milliseconds(200));
  go_on = true;
  second.join();
  first.join();
  CHECK(was_removed);
}

TEST_CASE("a stop works off what is pending for one call limit, and no longer",
          "[pinger][R8][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  std::vector<std::unique_ptr<DistributedLock>> locks;
  for (int i = 0; i < 5; ++i) {
    locks.push_back(a.lock("lock" + std::to_string(i)));
    REQUIRE(locks.back()->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(locks.back()->unlock() == UnlockResult::pending);
  }
  a.store->forget_calls();
  // A second call may begin within the limit of 10 s, and a third may not.
  a.store->during_each_call([&](const std::string&) { fleet.clock->advance(6s); });
  a.pinger->stop();
  a.store->during_each_call({});
  CHECK(a.store->calls("release") == 2);
  CHECK(a.pinger->stats().pending_releases == 3);
  CHECK(fleet.store->list().pings.size() == 1);
}
