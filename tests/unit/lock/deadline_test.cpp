#include <catch2/catch.hpp>

#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a deadline counts from the ping, not from the claim", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  const SteadyTime pinged = fleet.clock->steady_now();
  fleet.clock->advance(40s);
  REQUIRE(lock->lock_try("x"));
  const auto deadline = pinged + 16min - 70s - 960ms;
  CHECK(lock->valid_until() == deadline);
  fleet.clock->advance(deadline - fleet.clock->steady_now() - 1ns);
  CHECK_NOTHROW(lock->check());
  fleet.clock->advance(1ns);
  CHECK(thrown_by([&] { return lock->check(); }) == Errc::lock_lost);
}

TEST_CASE("a claim counts from before the last ping was sent", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const SteadyTime sent = fleet.clock->steady_now();
  a.store->before("ping", [&] { fleet.clock->advance(8s); });
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->valid_until() == sent + 16min - 70s - 960ms);
}

TEST_CASE("a ping that is confirmed while a claim is under way counts for the hold", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  SteadyTime pinged;
  const auto ping = [&] {
    fleet.clock->advance(2s);
    pinged = fleet.clock->steady_now();
    a.pinger->ping_round();
    fleet.clock->advance(2s);
  };

  SECTION("from no document") { a.store->before("claim", ping); }
  SECTION("whose reply is lost, so that it is read back") {
    make_known_free(*lock);
    a.store->fail("claim", Fault::lost_reply);
    a.store->before("inspect", ping);
  }
  SECTION("from the own hold that ran out") {
    REQUIRE(lock->lock_try("x"));
    fleet.clock->advance(15min);
    a.store->before("claim", ping);
  }
  SECTION("by reclaim()") {
    REQUIRE(lock->lock_try("x"));
    fleet.clock->advance(15min);
    a.store->before("claim", ping);
    REQUIRE(lock->reclaim("y"));
    CHECK(lock->valid_until() == pinged + 16min - 70s - 960ms);
    return;
  }
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->valid_until() == pinged + 16min - 70s - 960ms);
}

TEST_CASE("a deadline that passed is not revived by a ping", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min - 30s);
  a.pinger->ping_round();
  CHECK_FALSE(lock->held());

  SECTION("but may be claimed anew from one's own hold, with a new fence") {
    const Fence before = lock->fence();
    const auto ts = fleet.stored("balancer").ts;
    REQUIRE(lock->lock_try("y"));
    CHECK(lock->fence() == before + 1);
    CHECK(fleet.stored("balancer").ts != ts);
  }
  SECTION("and is freed by its unlock") {
    CHECK(lock->unlock() == UnlockResult::released);
    CHECK_FALSE(fleet.stored("balancer").taken());
  }
}

TEST_CASE("a hold that ran out is given up when it cannot be claimed anew", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min - 30s);
  a.store->fail("claim", Fault::rejected);
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::not_applied);
  CHECK(a.pinger->stats().pending_releases == 1);
  CHECK(thrown_by([&] { return lock->record(); }) == Errc::lock_lost);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("still_held() asks no store once the deadline has passed", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  a.store->forget_calls();
  CHECK_FALSE(lock->still_held());
  CHECK(a.store->calls() == 0);
}

TEST_CASE("an object that another thread claims with is busy", "[lock]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  LockRecord other;
  a.store->before("claim", [&] { CHECK_FALSE(lock->lock_try("at once", &other)); });
  REQUIRE(lock->lock_try("x"));
  CHECK(other.name == "balancer");
  CHECK(other.process == "a");
  CHECK(other.state == LockState::taken);
}

TEST_CASE("a claim that took too long is given back", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  // The request hangs behind its effect.
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] { fleet.clock->advance(16min); });
  LockRecord other;
  CHECK(thrown_by([&] {
          a.store->fail("ping", Fault::rejected, 3);
          return lock->lock_try("x", &other);
        }) == Errc::not_applied);
  CHECK_FALSE(lock->held());
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a claim given back too late is free again at once", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] {
    fleet.clock->advance(15min + 30s);
    a.store->fail("ping", Fault::rejected);
    a.store->before("inspect", [&] { CHECK_FALSE(fleet.stored("balancer").taken()); });
  });
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::not_applied);
  CHECK_FALSE(lock->held());
  CHECK(a.store->calls("release") == 2);
}

// Paused between the claim's effect and its reply; the pinger's thread is the first to run
// again.
TEST_CASE("a ping after a pause does not give a claim a deadline that it never had",
          "[lock][R1][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto b = fleet.process("b");
  const auto paused = a.lock("balancer");
  const auto rival = b.lock("balancer");
  a.store->after("claim", [&] {
    fleet.clock->advance(16min);           // the whole process is stopped
    REQUIRE(rival->lock_try("takeover"));  // lawfully: the last ping is 16 min old
    a.pinger->ping_round();                // continued: the ping thread first
  });
  const bool got = paused->lock_try("x");
  CHECK(rival->held());
  CHECK_FALSE((got && paused->held()));
  CHECK(fleet.stored("balancer").process == "b");
}

// The same at a read-back. No contender can have won at 15:40 unless the store's clock stepped by
// 20 s, which R5 lets pass and R9's allowance is for: the deadline is final all the same.
TEST_CASE("a ping during a read-back does not revive the claim", "[lock][R1][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] {
    a.store->before("inspect", [&] {  // the read-back
      fleet.clock->advance(15min + 40s);
      a.pinger->ping_round();
    });
  });
  const bool got = lock->lock_try("x");
  CHECK_FALSE((got && lock->held() && lock->fence() == 1));
}

TEST_CASE("a ping that is confirmed after the deadline comes too late", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min + 25s);
  a.store->before("ping", [&] { fleet.clock->advance(5s); });
  a.pinger->ping_round();
  CHECK_FALSE(lock->held());
}

TEST_CASE("a ping overtaken by a later one counts for nothing", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  SteadyTime later;
  a.store->before("ping", [&] {
    fleet.clock->advance(5s);
    later = fleet.clock->steady_now();
    a.pinger->ping_round();
  });
  a.pinger->ping_round();
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->valid_until() == later + 16min - 70s - 960ms);
}

TEST_CASE("a lock that is being released is not held", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->before("release", [&] {
    CHECK_FALSE(lock->held());
    fleet.clock->advance(30s);
    a.pinger->ping_round();
    CHECK_FALSE(lock->held());
  });
  REQUIRE(lock->unlock() == UnlockResult::released);
}

TEST_CASE("each hold has its own early warning", "[lock][lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  int warnings = 0;
  lock->on_at_risk([&](SteadyTime) { ++warnings; });
  for (int holds = 1; holds <= 3; ++holds) {
    REQUIRE(lock->lock_try("x"));
    fleet.clock->advance(8min);
    a.pinger->watch_round();
    CHECK(warnings == holds);
    REQUIRE(lock->unlock() == UnlockResult::released);
  }
}
