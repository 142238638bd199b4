// The stop token of a wait (R15).
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <memory>
#include <random>

#include "distlock/error.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/seed.h"
#include "support/stopping_clock.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

/// "a" is to wait in line for what "b" holds.
struct ToStand {
  ToStand() {
    a.store->has_line = true;
    REQUIRE(held->lock_try("x"));
  }

  Fleet fleet;
  std::unique_ptr<DistributedLock> held = fleet.process("b").lock("balancer");
  distlock::testing::Process a = fleet.process("a");
  std::unique_ptr<DistributedLock> lock = a.lock("balancer");
};

}  // namespace

TEST_CASE("a stop in the middle of a call from a place in line is heeded after it",
          "[waiting][R15][R17]") {
  const ToStand scene;
  const std::string call = GENERATE("stand", "inspect");
  std::stop_source stop;
  scene.a.store->before(call, [&] { stop.request_stop(); });
  if (GENERATE(true, false)) scene.a.store->fail(call, Fault::rejected);
  CHECK_FALSE(scene.lock->lock(stop.get_token()));
  CHECK(scene.a.store->calls("stand") == 1);
  CHECK(scene.a.store->calls("inspect") == (call == "inspect" ? 1 : 0));
  CHECK(scene.a.store->calls("leave") == 0);
  CHECK(scene.fleet.clock->waited() == (call == "inspect" ? 500ms : 0ms));
}

TEST_CASE("a stop in the middle of a call that ends the wait is followed by no other call",
          "[waiting][R15][R17]") {
  const ToStand scene;
  std::stop_source stop;
  scene.a.store->before("inspect", [&] {
    stop.request_stop();
    throw Error(Errc::bad_record, "somebody has spoilt it");
  });
  CHECK(thrown_by([&] { return scene.lock->lock(stop.get_token()); }) == Errc::bad_record);
  CHECK(scene.a.store->calls("leave") == 0);
  scene.a.pinger->ping_round();
  CHECK(scene.a.store->calls("leave") == 1);
}

TEST_CASE("a stop in the middle of a call is heeded after it", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  make_known_free(*a.lock("balancer"));
  const auto lock = a.lock("balancer");
  const std::string call = GENERATE("inspect", "claim");
  std::stop_source stop;
  a.store->before(call, [&] { stop.request_stop(); });
  a.store->forget_calls();

  SECTION("that is answered") {
    const bool got = lock->lock(stop.get_token());
    CHECK(got == (call == "claim"));
  }
  SECTION("that is not") {
    a.store->fail(call, Fault::lost_reply);
    CHECK_FALSE(lock->lock(stop.get_token()));
    CHECK(a.pinger->stats().pending_releases == (call == "claim" ? 1 : 0));
    CHECK(fleet.stored("balancer").taken() == (call == "claim"));
    a.pinger->ping_round();
    CHECK_FALSE(fleet.stored("balancer").taken());
  }
  CHECK(a.store->calls("inspect") == 1);
  CHECK(a.store->calls("claim") == (call == "claim" ? 1 : 0));
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("a stop among the releases before a claim ends them and the wait", "[waiting][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  for (const char* const name : {"one", "two"}) {
    const auto left = a.lock(name);
    REQUIRE(left->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(left->unlock() == UnlockResult::pending);
  }
  fleet.clock->advance(2min);  // So that the claim wants a ping, and releases follow that.
  std::stop_source stop;
  a.store->before("release", [&] { stop.request_stop(); });
  a.store->forget_calls();
  CHECK_FALSE(a.lock("balancer")->lock(stop.get_token()));
  CHECK(a.store->calls("ping") == 1);
  CHECK(a.store->calls("release") == 1);
  CHECK(a.store->calls("claim") == 0);
}

TEST_CASE("a stop among the releases before a place in line ends them and the wait",
          "[waiting][R8][R15][R17]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  for (const char* const name : {"one", "two"}) {
    const auto left = a.lock(name);
    REQUIRE(left->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(left->unlock() == UnlockResult::pending);
  }
  a.store->has_line = true;
  fleet.clock->advance(2min);  // So that the place wants a ping, and releases follow that.
  std::stop_source stop;
  a.store->before("release", [&] { stop.request_stop(); });
  a.store->forget_calls();
  const auto lock = a.lock("balancer");
  CHECK_FALSE(lock->lock(stop.get_token()));
  CHECK(a.store->calls("ping") == 1);
  CHECK(a.store->calls("release") == 1);
  CHECK(a.store->calls("stand") == 0);
}

TEST_CASE("a stop ends the pause of a wait that polls", "[waiting][R15]") {
  Fleet fleet;
  const auto clock = stopping_clock_of(fleet);
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer", {.poll_min = 1h, .poll_max = 1h});
  clock->stop_the_next_wait();
  CHECK_FALSE(waiter->lock(clock->stop.get_token()));
  CHECK(b.store->calls("inspect") == 1);
  CHECK(clock->waited() == 0s);
}

TEST_CASE("a stop ends a pause at once", "[waiting][R15]") {
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock held(pinger, "balancer");
  REQUIRE(held.lock_try("x"));
  DistributedLock waiter(pinger, "balancer", {.poll_min = 50s, .poll_max = 50s});
  std::stop_source stop;
  const int before = store->calls("inspect");
  bool got = true;
  boost::thread thread([&] { got = waiter.lock(stop.get_token()); });
  while (store->calls("inspect") == before) boost::this_thread::yield();
  const SteadyTime asked = host_clock()->steady_now();
  stop.request_stop();
  thread.join();
  CHECK_FALSE(got);
  CHECK(host_clock()->steady_now() - asked < 20s);
}

TEST_CASE(
    "a stop among the releases before a second claim of an absent lock ends them and the wait",
    "[waiting][R4][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  for (const char* const name : {"one", "two"}) {
    const auto left = a.lock(name);
    REQUIRE(left->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(left->unlock() == UnlockResult::pending);
  }
  // The first claim is refused, since there is a document for a moment.
  a.store->before("claim", [&] {
    fleet.memory.tables.put_lock(
        {{"_id", std::string("balancer")}, {"state", std::int32_t{0}}, {"who", std::string()}});
    a.store->before("inspect", [&] { fleet.memory.tables.remove_lock("balancer"); });
  });
  std::stop_source stop;
  a.store->before("release", [&] { stop.request_stop(); });
  a.store->forget_calls();
  CHECK_FALSE(a.lock("balancer")->lock(stop.get_token()));
  CHECK(a.store->calls("claim") == 1);
  CHECK(a.store->calls("ping") == 1);
  CHECK(a.store->calls("release") == 1);
}

TEST_CASE("a stop ends a wait of no time by false, and what its claim got is freed",
          "[waiting][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("jobs");
  std::stop_source stop;
  a.store->before("claim", [&] { stop.request_stop(); });
  a.store->fail("claim", Fault::lost_reply);
  CHECK_FALSE(lock->try_lock_for(0s, stop.get_token()));
  REQUIRE(fleet.stored("jobs").taken());
  CHECK(a.pinger->stats().pending_releases == 1);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("jobs").taken());
}
