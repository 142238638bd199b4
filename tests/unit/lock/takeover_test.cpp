#include <catch2/catch.hpp>

#include "support/dead_holder.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/server_fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace distlock::testing;

namespace {

// As MongoDB's own lock manager makes it: from the shard's term, the same for every hold.
const Token kShardsToken = *token_from_hex("020000000000000000000000");

/// The hold of a shard that is silent. As soon as the contender claims, another shard has it, with
/// the same token.
struct TakenByAnotherShard {
  TakenByAnotherShard() {
    const Document dead{
        {"_id", "jobs"s}, {"state", std::int32_t{2}}, {"process", "sh1"s}, {"who", "sh1"s},
        {"why", ""s},     {"when", StoreTime{}},      {"ts", kShardsToken}};
    fleet.memory.tables.put_lock(dead);
    fleet.memory.tables.put_ping({{"_id", "sh1"s}, {"ping", StoreTime{}}});
    const StoreTime now = fleet.store->list().now.time;
    contender.store->before("claim", [this, dead, now] {
      Document living = dead;
      living[2].second = "sh2"s;
      living[5].second = StoreTime{1min};
      fleet.memory.tables.put_lock(living);
      fleet.memory.tables.put_ping({{"_id", "sh2"s}, {"ping", now}});
    });
  }

  Fleet fleet;
  Process contender = fleet.process("b");
};

}  // namespace

TEST_CASE("a silent holder is taken over from the window on", "[lock][R6]") {
  Fleet fleet;
  const auto dead = fleet.process("dead");
  const auto lost = dead.lock("balancer");
  REQUIRE(lost->lock_try("x"));
  const auto b = fleet.process("b");
  const auto contender = b.lock("balancer");
  fleet.clock->advance(16min - 1ms);
  LockRecord other;
  REQUIRE_FALSE(contender->lock_try("y", &other));
  CHECK(other.process == "dead");
  fleet.clock->advance(1ms);
  REQUIRE(contender->lock_try("y"));
  CHECK(fleet.stored("balancer").process == "b");
  CHECK(contender->fence() == 2);
}

// A secondary may show neither the pings nor a later holder.
TEST_CASE("a holder that only an old copy of the data shows as silent is left alone",
          "[lock][R6]") {
  ServerFleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  b.store->freeze("balancer");
  const auto contender = b.lock("balancer");
  REQUIRE_FALSE(contender->lock_try("y"));
  fleet.clock->advance(10min);
  a.pinger->ping_round();
  fleet.clock->advance(6min);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(held->still_held());
}

TEST_CASE("a hold that another shard has taken meanwhile with the same token is left alone",
          "[lock][R2][R6]") {
  TakenByAnotherShard scene;
  const auto lock = scene.contender.lock("jobs");
  CHECK_FALSE(lock->lock_try("x"));
  CHECK(scene.fleet.stored("jobs").process == "sh2");
}

TEST_CASE("a holder that was taken over from is watched anew when it holds with the same token",
          "[lock][R2][R6]") {
  Fleet fleet;
  const Document hold{
      {"_id", "jobs"s}, {"state", std::int32_t{2}}, {"process", "sh1"s}, {"who", "sh1"s},
      {"why", ""s},     {"when", StoreTime{}},      {"ts", kShardsToken}};
  fleet.memory.tables.put_lock(hold);
  fleet.memory.tables.put_ping({{"_id", "sh1"s}, {"ping", StoreTime{}}});
  const auto lock = fleet.process("b").lock("jobs", {.takeover_rule = TakeoverRule::watched});
  REQUIRE_FALSE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  fleet.memory.tables.put_lock(hold);
  CHECK_FALSE(lock->lock_try("y"));
  fleet.clock->advance(16min);
  CHECK(lock->lock_try("y"));
}

TEST_CASE("pings keep a hold alive for ever", "[lock][R6][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto contender = fleet.process("b").lock("balancer");
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
    REQUIRE_FALSE(contender->lock_try("y"));
    REQUIRE(held->held());
  }
}

TEST_CASE("of two contenders that judge one holder dead only one takes over", "[lock][R2]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto a = fleet.process("a");
  const auto first = a.lock("balancer");
  const auto second = fleet.process("b").lock("balancer");
  a.store->before("claim", [&] { REQUIRE(second->lock_try("quicker")); });
  LockRecord other;
  CHECK_FALSE(first->lock_try("slower", &other));
  CHECK(other.process == "b");
  CHECK(fleet.stored("balancer").process == "b");
}

TEST_CASE("a takeover is one write, and the lock is never free in between", "[lock][R2]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process("b");
  const auto contender = b.lock("balancer");
  b.store->before("claim", [&] {
    CHECK(fleet.stored("balancer").taken());
    CHECK(fleet.stored("balancer").process == "dead");
  });
  REQUIRE(contender->lock_try("y"));
  CHECK(b.store->calls("claim") == 1);
  CHECK(b.store->calls("release") == 0);
}

TEST_CASE("a free lock that was held meanwhile is not claimed from the old look", "[lock][R2]") {
  Fleet fleet;
  const auto slow = fleet.process("slow");
  const auto lock = slow.lock("balancer");
  const auto quick = fleet.process("quick").lock("balancer");
  const auto hold_meanwhile = [&] { make_known_free(*quick); };

  SECTION("that another had freed") {
    make_known_free(*quick);
    slow.store->before("claim", hold_meanwhile);
  }
  SECTION("that it had freed itself") {
    make_known_free(*lock);
    slow.store->forget_calls();
    slow.store->before("claim", hold_meanwhile);
  }
  REQUIRE(lock->lock_try("x"));
  CHECK(slow.store->calls("claim") == 2);
  CHECK(lock->fence() == 3);
}

TEST_CASE("a takeover is judged on a fresh read", "[lock][R6]") {
  Fleet fleet;
  const auto holder = fleet.process("holder");
  const auto held = holder.lock("balancer");
  REQUIRE(held->lock_try("x"));
  fleet.clock->advance(16min);
  const auto b = fleet.process("b");
  b.store->always_fresh = false;
  const auto contender = b.lock("balancer");

  SECTION("which may save a holder that pinged meanwhile") {
    int looks = 0;
    b.store->before("inspect", [&] {
      b.store->before("inspect", [&] {
        ++looks;
        holder.pinger->ping_round();
      });
    });
    CHECK_FALSE(contender->lock_try("y"));
    CHECK(looks == 1);
    CHECK(b.store->calls("claim") == 0);
  }
  SECTION("and costs one more command") {
    CHECK(contender->lock_try("y"));
    CHECK(b.store->calls("inspect") == 2);
  }
}

TEST_CASE("a hold says how long its silence must last", "[lock][R6]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer", {.takeover_after = 1h});
  REQUIRE(held->lock_try("x"));
  CHECK(fleet.stored("balancer").takeover_after == 1h);
  const auto contender = fleet.process("b").lock("balancer");
  fleet.clock->advance(1h - 1ms);
  CHECK_FALSE(contender->lock_try("y"));
  fleet.clock->advance(1ms);
  CHECK(contender->lock_try("y"));
}

TEST_CASE("a waiter in line leaves a hold alone that another shard took with the same token",
          "[waiting][R2][R6][R17]") {
  TakenByAnotherShard scene;
  scene.contender.store->has_line = true;
  const auto lock = scene.contender.lock("jobs");
  CHECK_FALSE(lock->try_lock_for(5s));
  CHECK(scene.contender.store->calls("claim") == 1);
  CHECK(scene.fleet.stored("jobs").process == "sh2");
}
