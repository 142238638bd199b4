#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <mutex>

#include "support/captured_log.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a wait ends with the lock as soon as it is free", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  REQUIRE(held->lock_try("x"));
  b.store->before("inspect", [&] {
    b.store->before("inspect", [&] { REQUIRE(held->unlock() == UnlockResult::released); });
  });
  waiter->lock();
  CHECK(waiter->held());
  CHECK(fleet.clock->waited() <= 20ms);
}

TEST_CASE("a wait ends by its deadline", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  LockRecord other;

  SECTION("neither before nor after") {
    CHECK_FALSE(waiter->try_lock_for(5s, {}, "y", &other));
    CHECK(fleet.clock->waited() == 5s);
    CHECK(other.process == "a");
    // Polite: 20 ms, doubling to 1 s.
    CHECK(b.store->calls("inspect") >= 5);
    CHECK(b.store->calls("inspect") <= 20);
    CHECK(b.store->calls("release") == 0);
  }
  SECTION("a wait of nothing tries once") {
    CHECK_FALSE(waiter->try_lock_for(0s));
    CHECK(b.store->calls("inspect") == 1);
  }
  SECTION("a wait of less than nothing, too") {
    CHECK_FALSE(waiter->try_lock_for(-std::chrono::hours::max()));
    CHECK(b.store->calls("inspect") == 1);
  }
  SECTION("a point in time") {
    CHECK_FALSE(waiter->try_lock_until(std::chrono::system_clock::now() - 1s));
    CHECK(fleet.clock->waited() == 0s);
  }
}

TEST_CASE("a wait until a day that no nanoseconds reach goes on", "[waiting][R15]") {
  using std::chrono::sys_days;
  using std::chrono::year;
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  b.store->before("inspect", [&] {
    b.store->before("inspect", [&] { REQUIRE(held->unlock() == UnlockResult::released); });
  });
  const auto waits_until = [&](const auto& deadline) { return waiter->try_lock_until(deadline); };
  SECTION("9999") { CHECK(waits_until(sys_days{year{9999} / 12 / 31})); }
  SECTION("2300") { CHECK(waits_until(sys_days{year{2300} / 1 / 1})); }
  SECTION("the last second") { CHECK(waits_until(std::chrono::sys_seconds::max())); }
  SECTION("the last millisecond of a steady clock") {
    using Clk = std::chrono::steady_clock;
    CHECK(waits_until(std::chrono::time_point<Clk, std::chrono::milliseconds>::max()));
  }
  SECTION("a day that is long gone") { CHECK_FALSE(waits_until(sys_days{year{-9999} / 1 / 1})); }
  SECTION("the first second") { CHECK_FALSE(waits_until(std::chrono::sys_seconds::min())); }
}

TEST_CASE("a wait ends when a stop is requested", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  std::stop_source stop;
  b.store->before("inspect", [&] { stop.request_stop(); });
  CHECK_FALSE(waiter->lock(stop.get_token()));
  CHECK(b.store->calls("inspect") == 1);
  CHECK_FALSE(waiter->try_lock_for(1h, stop.get_token()));
}

TEST_CASE("a waiter takes over the dead soon after the window", "[waiting][R6][R15]") {
  Fleet fleet;
  const auto dead = fleet.process("a").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  const SteadyTime died = fleet.clock->steady_now();
  const auto waiter = fleet.process("b").lock("balancer");
  waiter->lock();
  CHECK(waiter->held());
  CHECK(fleet.clock->steady_now() - died >= 16min);
  CHECK(fleet.clock->steady_now() - died <= 16min + 20ms);
}

TEST_CASE("a wait outlives a store that fails for a while", "[waiting][R15]") {
  Fleet fleet;
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  b.store->fail("inspect", Fault::rejected, 10);
  waiter->lock();
  CHECK(waiter->held());
}

TEST_CASE("the standard's lock types work", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(true, false);
  const auto one = a.lock("one");
  const auto two = a.lock("two");
  {
    const std::scoped_lock both(*one, *two);
    CHECK(one->held());
    CHECK(two->held());
  }
  CHECK_FALSE(one->held());
  {
    std::unique_lock lock(*one, std::defer_lock);
    CHECK(lock.try_lock());
    lock.unlock();
    CHECK(lock.try_lock_for(1s));
  }
  CHECK_FALSE(fleet.stored("one").taken());
}

TEST_CASE("four threads on one object never hold it together", "[waiting][R1]") {
  const auto pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = make_memory_store()});
  DistributedLock lock(pinger, "balancer", {.poll_min = 1ms, .poll_max = 1ms});
  std::atomic<bool> inside{false};
  std::atomic<int> overlaps{0};
  int unprotected = 0;
  const int rounds = 100;
  boost::thread_group threads;
  for (int i = 0; i < 4; ++i) {
    threads.create_thread([&] {
      for (int round = 0; round < rounds; ++round) {
        const std::lock_guard guard(lock);
        if (inside.exchange(true)) ++overlaps;
        ++unprotected;
        boost::this_thread::yield();
        inside = false;
      }
    });
  }
  threads.join_all();
  CHECK(unprotected == 4 * rounds);
  CHECK(overlaps == 0);
}

TEST_CASE("a deadline in the distant past is no wait", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto waiter = fleet.process("b").lock("balancer");
  CHECK_FALSE(waiter->try_lock_until(std::chrono::system_clock::time_point::min()));
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("a deadline that has passed is no wait, also where its clock counts without a sign",
          "[waiting][R15]") {
  using Unsigned = std::chrono::duration<std::uint64_t, std::milli>;
  const auto now = std::chrono::system_clock::now();
  const std::chrono::time_point<std::chrono::system_clock, Unsigned> before{
      std::chrono::duration_cast<Unsigned>((now - 5s).time_since_epoch())};
  CHECK(bounded_wait(before, now) == 0ns);
  CHECK(bounded_wait(before, now - 6s) > 0ns);
  CHECK(bounded_wait(before, now - 6s) <= 1s);
}

TEST_CASE("a wait without a limit goes on for months", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  b.store->before("inspect", [&] {
    fleet.clock->advance(24h * 100);
    (void)held->unlock();
  });
  waiter->lock();
  CHECK(waiter->held());
}

TEST_CASE("a wait of nothing that is stopped already changes nothing", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->forget_calls();
  std::stop_source stop;
  stop.request_stop();
  LockRecord other{.name = "as before"};
  CHECK_FALSE(lock->try_lock_for(0s, stop.get_token(), "x", &other));
  CHECK(a.store->calls() == 0);
  CHECK(other.name == "as before");
  // It still knows that the lock is free.
  REQUIRE(lock->lock_try("y"));
  CHECK(a.store->calls("inspect") == 0);
}

TEST_CASE("a stop in the middle of a wait of nothing lets no claim follow", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  std::stop_source stop;
  a.store->before("inspect", [&] { stop.request_stop(); });
  LockRecord other;
  CHECK_FALSE(lock->try_lock_for(0s, stop.get_token(), "x", &other));
  CHECK(a.store->calls() == 1);
  CHECK(other.name == "balancer");
  CHECK_FALSE(other.taken());
}

TEST_CASE("a wait that polls takes no place in line", "[waiting][R15][R17]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->has_line = true;
  const auto waiter = b.lock("balancer", {.wait_rule = WaitRule::polling});
  CHECK_FALSE(waiter->try_lock_for(5s));
  CHECK(b.store->calls("inspect") >= 5);
  CHECK(b.store->calls("stand") == 0);
}

TEST_CASE("a stopped pinger refuses waits, also those that are stopped already",
          "[waiting][R12][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(true, false);
  const auto lock = a.lock("balancer");
  a.pinger->stop();
  std::stop_source stop;
  if (GENERATE(true, false)) stop.request_stop();
  CHECK(thrown_by([&] { return lock->lock(stop.get_token()); }) == Errc::stopped);
}

TEST_CASE("an error that stays ends a wait at once", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(true, false);
  const auto lock = a.lock("balancer");
  const auto refuse = [] { throw Error(Errc::permission_denied, "the test forbids it"); };
  a.store->before(a.store->has_line ? "stand" : "inspect", refuse);
  CHECK(thrown_by([&] { return lock->lock(); }) == Errc::permission_denied);
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("a wait without patience ends when the store fails", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(true, false);
  const auto lock = a.lock("balancer", {.store_patience = 0ms});
  a.store->fail(a.store->has_line ? "stand" : "inspect", Fault::rejected);
  CHECK(thrown_by([&] { return lock->lock(); }) == Errc::not_applied);
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("each failure of the store is logged while a lock is waited for", "[log][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(true, false);
  const auto lock = a.lock("balancer");
  a.store->fail(a.store->has_line ? "stand" : "inspect", Fault::rejected, 2);
  Captured log;
  lock->lock();
  CHECK(log.count(severity_level::debug, "goes on after: ") == 2);
}
