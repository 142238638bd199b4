// Announcements of losses: of which hold, to which lock object, how often.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "pinger/holds.h"
#include "support/fleet.h"
#include "support/forked_child.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

/// Holds whose announcements wait: no thread was started.
struct Untold {
  Token claim() {
    const Token ts{{++claims}};
    holds.enlist(hold, ts);
    hold->claim_validity.begin(SteadyTime{1h});
    REQUIRE(holds.begin(*hold, ts, {}, SteadyTime{1h}));
    return ts;
  }

  Holds holds{AnnounceOn::own_threads};
  std::shared_ptr<Hold> hold = std::make_shared<Hold>("balancer", 1min);
  std::uint8_t claims = 0;
};

/// Runs the action in a child, which a deadlock ends after a while.
bool child_ends(const std::function<void()>& action) {
  return answer_of_child([&] { return action(), 0; }) == 0;
}

/// Does something when the last copy of it ends.
struct AtItsEnd {
  explicit AtItsEnd(std::function<void()> given) : action(std::move(given)) {}
  ~AtItsEnd() { action(); }
  AtItsEnd(const AtItsEnd&) = delete;
  AtItsEnd& operator=(const AtItsEnd&) = delete;
  std::function<void()> action;
};

}  // namespace

TEST_CASE("a hold that ran out is announced also if nobody has looked before it ends",
          "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  auto lock = a.lock("balancer");
  std::vector<LossReason> told;
  lock->on_lost([&](LossReason reason) { told.push_back(reason); });
  REQUIRE(lock->lock_try("x"));
  const auto stop = lock->stop_token();
  fleet.clock->advance(kValidByPing);
  const std::vector once{LossReason::deadline_passed};

  SECTION("by a claim of the same thread") {
    REQUIRE(lock->lock_try("y"));
    CHECK(told == once);
    CHECK_FALSE(lock->lost());
    CHECK_FALSE(lock->stop_token().stop_requested());
  }
  SECTION("by a claim of the same thread that a rival has made vain") {
    fleet.clock->advance(16min - kValidByPing);
    const auto rival = fleet.process("b").lock("balancer");
    REQUIRE(rival->lock_try("y"));
    CHECK_FALSE(lock->lock_try("y"));
    CHECK(told == once);
    CHECK(lock->lost() == LossReason::deadline_passed);
  }
  SECTION("by reclaim()") {
    REQUIRE(lock->reclaim("y"));
    CHECK(told == once);
    CHECK_FALSE(lock->stop_token().stop_requested());
  }
  SECTION("before the claim that follows it is sent") {
    a.store->before("claim", [&] { CHECK(told == once); });
    REQUIRE(lock->lock_try("y"));
  }
  SECTION("by unlock()") {
    a.store->before("release", [&] { CHECK(told == once); });
    CHECK(lock->unlock() == UnlockResult::released);
    CHECK(lock->lost() == LossReason::deadline_passed);
  }
  SECTION("by unlock(), seen by held() before") {
    REQUIRE_FALSE(lock->held());
    CHECK(lock->unlock() == UnlockResult::released);
  }
  SECTION("by the destructor") { lock.reset(); }

  CHECK(told == once);
  CHECK(stop.stop_requested());
  a.pinger->watch_round();
  a.pinger->ping_round();
  CHECK(told == once);
}

TEST_CASE("an unlock in the last moment is no loss", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  int told = 0;
  lock->on_lost([&](LossReason) { ++told; });
  REQUIRE(lock->lock_try("x"));
  const auto stop = lock->stop_token();
  fleet.clock->advance(kValidByPing - 1ns);
  a.store->before("release", [&] {
    fleet.clock->advance(1h);
    a.pinger->watch_round();
  });
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(told == 0);
  CHECK_FALSE(stop.stop_requested());
  CHECK_FALSE(lock->lost());
}

TEST_CASE("a claim that came too late is no hold that could be lost", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  int told = 0;
  lock->on_lost([&](LossReason) { ++told; });
  a.store->after("claim", [&] { fleet.clock->advance(kValidByPing); });
  a.store->before("release", [&] {
    CHECK_FALSE(lock->held());
    a.pinger->watch_round();
  });
  REQUIRE(lock->lock_try("x"));
  CHECK(a.store->calls("claim") == 2);
  CHECK(told == 0);
  CHECK_FALSE(lock->lost());
}

TEST_CASE("an old loss ends no new hold", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  int told = 0;
  lock->on_lost([&](LossReason) { ++told; });
  REQUIRE(lock->lock_try("x"));
  const auto claim_anew = [&] {
    REQUIRE(lock->unlock() == UnlockResult::released);
    REQUIRE(lock->lock_try("y"));
  };
  SECTION("asked for by still_held()") {
    a.store->before("carried", claim_anew);
    CHECK_FALSE(lock->still_held());
  }
  SECTION("found by a ping round") {
    // The list has nothing of it, and the answer is about the hold before.
    REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
    a.store->before("carried", [&] {
      REQUIRE(lock->unlock() == UnlockResult::not_ours);
      REQUIRE(lock->lock_try("y"));
    });
    a.pinger->ping_round();
  }
  CHECK(told == 0);
  CHECK(lock->held());
  CHECK_FALSE(lock->stop_token().stop_requested());
}

TEST_CASE("an announcement that is run late reaches its own hold", "[lifetime][R9]") {
  Untold world;
  std::string told;
  world.holds.on_lost(*world.hold, [&](LossReason) { told += "first "; });
  const auto first = world.holds.stop_token(*world.hold);
  world.holds.lose({world.hold, world.claim()}, LossReason::freed);
  const auto of_the_lost = world.holds.stop_token(*world.hold);
  world.claim();
  world.holds.on_lost(*world.hold, [&](LossReason) { told += "second "; });
  const auto second = world.holds.stop_token(*world.hold);
  CHECK(told.empty());

  world.holds.silence(*world.hold);
  CHECK(told == "first ");
  CHECK_FALSE(first.stop_requested());  // asked for before there was a hold
  CHECK(of_the_lost.stop_requested());
  CHECK_FALSE(second.stop_requested());
}

TEST_CASE("a loss noticed before the destructor is told before it returns", "[lifetime][R9]") {
  Untold world;
  int told = 0;
  world.holds.on_lost(*world.hold, [&](LossReason) { ++told; });
  world.holds.on_at_risk(*world.hold, [&](SteadyTime) { ++told; });
  const Token ts = world.claim();
  world.holds.announce_due(SteadyTime{1h + 30s});
  world.holds.lose({world.hold, ts}, LossReason::freed);
  CHECK(told == 0);
  world.holds.silence(*world.hold);
  CHECK(told == 2);
  world.claim();
  world.holds.announce_due(SteadyTime{2h});
  world.holds.silence(*world.hold);
  CHECK(told == 2);
}

TEST_CASE("tokens are stopped before any callback runs", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  std::vector<std::unique_ptr<DistributedLock>> locks;
  std::vector<std::stop_token> tokens;
  int told = 0;
  for (int i = 0; i < 10; ++i) {
    auto& lock = *locks.emplace_back(a.lock("lock" + std::to_string(i)));
    lock.on_lost([&](LossReason) {
      for (const auto& token : tokens) CHECK(token.stop_requested());
      ++told;
    });
    REQUIRE(lock.lock_try("x"));
    tokens.push_back(lock.stop_token());
  }
  fleet.clock->advance(kValidByPing);
  a.pinger->watch_round();
  CHECK(told == 10);
}

TEST_CASE("a lock that its own stop token destroys calls nothing afterwards", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  auto lock = a.lock("balancer");
  bool destroyed = false;
  bool told_late = false;
  lock->on_lost([&, captured = std::make_shared<AtItsEnd>([&] { a.pinger->watch_round(); })](
                    LossReason) { told_late = destroyed; });
  REQUIRE(lock->lock_try("x"));
  const std::stop_callback destroys(lock->stop_token(), [&] {
    lock.reset();
    destroyed = true;
  });
  fleet.clock->advance(kValidByPing);
  a.pinger->watch_round();
  CHECK(destroyed);
  CHECK_FALSE(told_late);
}

TEST_CASE("a callback that is replaced may ask the lock when it ends", "[lifetime][R9]") {
  CHECK(child_ends([] {
    Fleet fleet;
    const auto a = fleet.process("a");
    const auto lock = a.lock("balancer");
    int asked = 0;
    const auto asks = [&] {
      return std::make_shared<AtItsEnd>([&] {
        lock->on_lost({});
        lock->on_at_risk({});
        if (!lock->lost() && !lock->stop_token().stop_requested()) ++asked;
      });
    };
    lock->on_lost([captured = asks()](LossReason) {});
    lock->on_lost({});
    lock->on_at_risk([captured = asks()](SteadyTime) {});
    lock->on_at_risk({});
    if (asked != 2) _exit(1);
  }));
}

TEST_CASE("a callback's captures end with the lock, even if other objects remember the lock",
          "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  auto lock = a.lock("balancer");
  bool ended = false;
  lock->on_lost([captured = std::make_shared<AtItsEnd>([&] { ended = true; })](LossReason) {});
  REQUIRE(lock->lock_try("x"));
  // A round that has the hold in hand.
  REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
  a.store->before("carried", [&] {
    lock.reset();
    CHECK(ended);
  });
  a.pinger->ping_round();
  CHECK(ended);
}

TEST_CASE("all tokens of a hold are stopped at its end", "[lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const auto first = lock->stop_token();
  const auto second = lock->stop_token();
  fleet.clock->advance(kValidByPing);
  a.pinger->watch_round();
  CHECK(first.stop_requested());
  CHECK(second.stop_requested());
  CHECK(lock->stop_token().stop_requested());
}
