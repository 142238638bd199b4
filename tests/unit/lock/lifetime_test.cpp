#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>

#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

constexpr auto kValidity = 16min - 70s - 960ms;

// For the tests that wait for a real deadline. A claim may be held up for the call's limit.
const LockOptions kShortLived{.takeover_after = 1s};

std::shared_ptr<distlock::testing::FaultyStore> store_in_real_time() {
  return std::make_shared<distlock::testing::FaultyStore>(
      make_memory_store(host_clock(), {.call_limit = 100ms}));
}

}  // namespace

TEST_CASE("a deadline that passes is announced when it passes", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  std::vector<LossReason> lost;
  lock->on_lost([&](LossReason reason) { lost.push_back(reason); });
  REQUIRE(lock->lock_try("x"));
  const auto stop = lock->stop_token();
  CHECK_FALSE(stop.stop_requested());

  fleet.clock->advance(kValidity - 1ns);
  CHECK(a.pinger->watch_round() == lock->valid_until());
  CHECK(lost.empty());
  fleet.clock->advance(1ns);
  CHECK(a.pinger->watch_round() == SteadyTime::max());
  CHECK(lost == std::vector{LossReason::deadline_passed});
  CHECK(stop.stop_requested());
  CHECK(lock->lost() == LossReason::deadline_passed);
  a.pinger->watch_round();
  CHECK(lost.size() == 1);
}

TEST_CASE("a stop token that is asked for after the loss is stopped already", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(kValidity);
  a.pinger->watch_round();
  CHECK(lock->stop_token().stop_requested());
  REQUIRE(lock->reclaim("y"));
  CHECK_FALSE(lock->stop_token().stop_requested());
}

TEST_CASE("an early warning comes at half the validity, once", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  std::vector<SteadyTime> warnings;
  lock->on_at_risk([&](SteadyTime until) { warnings.push_back(until); });
  REQUIRE(lock->lock_try("x"));
  const auto first = lock->valid_until();
  CHECK(a.pinger->watch_round() == first - kValidity / 2);
  fleet.clock->advance(kValidity / 2);
  CHECK(a.pinger->watch_round() == first);
  a.pinger->watch_round();
  CHECK(warnings == std::vector{first});

  SECTION("and again after a ping came and the next did not") {
    a.pinger->ping_round();
    a.pinger->watch_round();
    CHECK(warnings.size() == 1);
    fleet.clock->advance(kValidity / 2);
    a.pinger->watch_round();
    CHECK(warnings.size() == 2);
  }
}

TEST_CASE("a hold that the store no longer has is announced within a ping round",
          "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  std::optional<LossReason> lost;
  lock->on_lost([&](LossReason reason) { lost = reason; });
  REQUIRE(lock->lock_try("x"));
  const Token ts = *lock->record().ts;
  a.pinger->ping_round();
  REQUIRE_FALSE(lost);

  SECTION("broken by an operator") {
    REQUIRE(fleet.store->release("balancer", ts) == ReleaseResult::freed);
    a.pinger->ping_round();
    CHECK(lost == LossReason::freed);
    CHECK(lock->unlock() == UnlockResult::not_ours);
  }
  SECTION("broken and claimed by another") {
    REQUIRE(fleet.store->release("balancer", ts) == ReleaseResult::freed);
    const auto next = fleet.process("b").lock("balancer");
    REQUIRE(next->lock_try("y"));
    a.pinger->ping_round();
    CHECK(lost == LossReason::taken_over);
    CHECK(lock->unlock() == UnlockResult::not_ours);
    CHECK(fleet.stored("balancer").process == "b");
  }
  SECTION("broken, claimed by another and released") {
    REQUIRE(fleet.store->release("balancer", ts) == ReleaseResult::freed);
    REQUIRE(fleet.process("b").lock("balancer")->lock_try("y"));
    a.pinger->ping_round();
    CHECK(lost == LossReason::replaced);
  }
  CHECK_FALSE(lock->held());
  CHECK_FALSE(lock->valid_until() > fleet.clock->steady_now());
}

TEST_CASE("a list of holds that cannot be had loses nothing", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("holds", Fault::rejected);
  a.pinger->ping_round();
  CHECK(lock->held());
}

TEST_CASE("a list of holds that is out of date loses nothing", "[lifetime][R9]") {
  // As of a primary that was deposed before the claim.
  class OldList : public distlock::testing::FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    std::vector<StoredHold> holds(std::string_view) override { return {}; }
  };
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<OldList>(fleet.store), "a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.pinger->ping_round();
  CHECK(lock->held());
  CHECK_FALSE(lock->lost());
}

TEST_CASE("still_held asks the store", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  CHECK_FALSE(lock->still_held());
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->still_held());

  SECTION("and a no is final") {
    REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
    CHECK_FALSE(lock->still_held());
    CHECK_FALSE(lock->held());
    CHECK(lock->lost() == LossReason::freed);
  }
  SECTION("and a store that does not answer says nothing") {
    a.store->fail("carried", Fault::rejected);
    CHECK(thrown_by([&] { return lock->still_held(); }) == Errc::not_applied);
    CHECK(lock->held());
  }
  SECTION("and a deadline that passes meanwhile counts") {
    a.store->before("carried", [&] { fleet.clock->advance(kValidity); });
    CHECK_FALSE(lock->still_held());
  }
}

TEST_CASE("reclaim claims anew from one's own hold only", "[lifetime][R9][R10]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  CHECK(thrown_by([&] { return lock->reclaim("x"); }) == Errc::lock_lost);
  REQUIRE(lock->lock_try("x"));
  CHECK(thrown_by([&] { return lock->reclaim("x"); }) == Errc::already_held);
  const auto stop = lock->stop_token();
  fleet.clock->advance(kValidity);
  a.pinger->watch_round();

  SECTION("if it is still there") {
    REQUIRE(lock->reclaim("x"));
    CHECK(lock->fence() == 2);
    CHECK_FALSE(lock->lost());
    CHECK(stop.stop_requested());
    CHECK_FALSE(lock->stop_token().stop_requested());
  }
  SECTION("not if another has come and gone") {
    fleet.clock->advance(16min - kValidity);
    const auto next = fleet.process("b").lock("balancer");
    REQUIRE(next->lock_try("y"));
    REQUIRE(next->unlock() == UnlockResult::released);
    CHECK_FALSE(lock->reclaim("x"));
    CHECK_FALSE(lock->held());
    CHECK(thrown_by([&] { return lock->reclaim("x"); }) == Errc::lock_lost);
  }
}

TEST_CASE("an unlock is no loss", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  int lost = 0;
  lock->on_lost([&](LossReason) { ++lost; });
  REQUIRE(lock->lock_try("x"));
  const auto stop = lock->stop_token();
  a.store->before("release", [&] { a.pinger->watch_round(); });
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.pinger->watch_round();
  a.pinger->ping_round();
  CHECK(lost == 0);
  CHECK_FALSE(stop.stop_requested());
  CHECK_FALSE(lock->lost());
}

TEST_CASE("callbacks may throw, unlock and destroy the lock", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  auto lock = a.lock("balancer");
  const auto other = a.lock("other");
  int told = 0;
  other->on_lost([&](LossReason) { ++told; });
  REQUIRE(lock->lock_try("x"));
  REQUIRE(other->lock_try("x"));

  SECTION("throw") {
    lock->on_lost([](LossReason) { throw std::runtime_error("from the callback"); });
  }
  SECTION("throw what is no exception") {
    lock->on_lost([](LossReason) { throw 42; });
  }
  SECTION("unlock") {
    lock->on_lost([&](LossReason) { CHECK(lock->unlock() == UnlockResult::released); });
  }
  SECTION("claim anew") {
    lock->on_lost([&](LossReason) { CHECK(lock->reclaim("x")); });
  }
  SECTION("destroy") {
    lock->on_lost([&](LossReason) { lock.reset(); });
  }
  fleet.clock->advance(kValidity);
  a.pinger->watch_round();
  CHECK(told == 1);
}

TEST_CASE("a callback that blocks holds up no other lock", "[lifetime][R9][threads]") {
  const auto store = store_in_real_time();
  const auto short_lived = std::make_shared<DistributedLockPinger>(
      Environment{.store = store}, PingerOptions{.ping_every = 20ms});
  boost::barrier may_end(2);
  boost::barrier other_told(2);
  DistributedLock blocked(short_lived, "blocked", kShortLived);
  DistributedLock free(short_lived, "free", kShortLived);
  blocked.on_lost([&](LossReason) { may_end.wait(); });
  free.on_lost([&](LossReason) { other_told.wait(); });
  REQUIRE(blocked.lock_try("x"));
  REQUIRE(free.lock_try("x"));
  store->fail("ping", Fault::rejected, 100'000);
  other_told.wait();
  CHECK(free.lost() == LossReason::deadline_passed);
  may_end.wait();
}

TEST_CASE("a stop token stops a thread that works under the lock", "[lifetime][R9][threads]") {
  const auto store = store_in_real_time();
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                              PingerOptions{.ping_every = 20ms});
  DistributedLock lock(pinger, "balancer", kShortLived);
  REQUIRE(lock.lock_try("x"));
  store->fail("ping", Fault::rejected, 100'000);
  std::promise<void> stopped;
  const std::stop_callback at_loss(lock.stop_token(), [&] { stopped.set_value(); });
  stopped.get_future().wait();
  CHECK_FALSE(lock.held());
}

TEST_CASE("the pinger counts its good and failed pings", "[lifetime][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("ping", Fault::rejected, 2);
  a.pinger->ping_round();
  a.pinger->ping_round();
  fleet.clock->advance(45s);
  a.store->before("ping", [&] { fleet.clock->advance(5ms); });
  a.pinger->ping_round();
  const PingerStats stats = a.pinger->stats();
  CHECK(stats.health.successes == 2);
  CHECK(stats.health.failures == 2);
  CHECK(stats.health.round_trip == 5ms);
  CHECK(stats.health.late_by == 15s);
  CHECK(stats.holds == 1);
  CHECK(stats.pending_releases == 0);
  CHECK_FALSE(stats.late);
}
