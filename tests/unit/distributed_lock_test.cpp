#include "distlock/distributed_lock.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "support/fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using distlock::testing::Fault;
using distlock::testing::Fleet;

TEST_CASE("of two contenders one holds and the other learns who", "[lock][R1]") {
  Fleet fleet;
  const auto a = fleet.process("a").lock("balancer");
  const auto b = fleet.process("b").lock("balancer");
  REQUIRE(a->lock_try("doing balance round"));
  LockRecord other;
  REQUIRE_FALSE(b->lock_try("me, too", &other));
  CHECK(other.process == "a");
  CHECK(other.why == "doing balance round");
  CHECK(other.who.starts_with("a:"));
  CHECK(other.ts == a->record().ts);
  CHECK(a->unlock() == UnlockResult::released);
  CHECK(b->lock_try("now"));
}

TEST_CASE("a lock that is got leaves the other record alone", "[lock]") {
  Fleet fleet;
  const auto a = fleet.process("a").lock("balancer");
  LockRecord other{.name = "untouched"};
  REQUIRE(a->lock_try("x", &other));
  CHECK(other.name == "untouched");
}

TEST_CASE("commands are as few as promised", "[lock][cost]") {
  Fleet fleet;
  const auto process = fleet.process("a");
  const auto lock = process.lock("balancer");
  REQUIRE(lock->lock_try("first"));
  CHECK(process.store->calls("ping") == 1);
  CHECK(process.store->calls() - process.store->calls("ping") == 2);

  process.store->forget_calls();
  REQUIRE(lock->unlock() == UnlockResult::released);
  CHECK(process.store->calls() == 1);

  process.store->forget_calls();
  REQUIRE(lock->lock_try("after own release"));
  CHECK(process.store->calls() == 1);

  const auto contender = fleet.process("b");
  CHECK_FALSE(contender.lock("balancer")->lock_try("busy"));
  CHECK(contender.store->calls() == 1);

  REQUIRE(lock->unlock() == UnlockResult::released);
  const auto known = fleet.process("c");
  REQUIRE(known.lock("balancer")->lock_try("a known free lock"));
  CHECK(known.store->calls("inspect") + known.store->calls("claim") == 2);
}

TEST_CASE("a process pings before its first claim", "[lock][R7]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");

  SECTION("so its hold is never without") {
    a.store->before("claim", [&] { CHECK(fleet.store->list().pings.size() == 1); });
    REQUIRE(lock->lock_try("x"));
  }
  SECTION("and does not claim if it cannot") {
    a.store->fail("ping", Fault::rejected);
    CHECK_THROWS_AS(lock->lock_try("x"), Error);
    CHECK(a.store->calls("claim") == 0);
    CHECK(lock->lock_try("again"));
  }
}

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

TEST_CASE("a late unlock frees nobody else's hold", "[lock][R3]") {
  Fleet fleet;
  const auto late = fleet.process("late").lock("balancer");
  REQUIRE(late->lock_try("x"));
  fleet.clock->advance(16min);
  const auto next = fleet.process("next").lock("balancer");
  REQUIRE(next->lock_try("y"));
  CHECK(late->unlock() == UnlockResult::not_ours);
  CHECK(fleet.stored("balancer").process == "next");
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("of two who judge one holder dead only one takes over", "[lock][R2]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  fleet.clock->advance(16min);
  const auto a = fleet.process("a");
  const auto first = a.lock("balancer");
  const auto second = fleet.process("b").lock("balancer");
  a.store->before("claim", [&] { REQUIRE(second->lock_try("quicker")); });
  LockRecord other;
  CHECK_FALSE(first->lock_try("slower", &other));
  CHECK(other.process == "b");
  CHECK(fleet.stored("balancer").process == "b");
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

TEST_CASE("a store whose clock cannot step is not asked about the wall clock", "[lock][R5]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  const auto contender = fleet.process("b").lock("balancer");
  fleet.clock->advance(16min);
  fleet.clock->set_wall_off(1h);
  CHECK(contender->lock_try("y"));
}

TEST_CASE("a claim whose reply was lost is read back", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");

  SECTION("and is held if it was applied") {
    a.store->fail("claim", Fault::lost_reply);
    REQUIRE(lock->lock_try("x"));
    CHECK(lock->record().ts == fleet.stored("balancer").ts);
    CHECK(lock->fence() == 1);
    CHECK(a.store->calls("inspect") + a.store->calls("claim") == 3);
  }
  SECTION("and is claimed anew once it cannot arrive any more") {
    a.store->fail("claim", Fault::delayed);
    REQUIRE(lock->lock_try("x"));
    const auto ts = lock->record().ts;
    a.store->deliver();
    CHECK(fleet.stored("balancer").ts == ts);
    CHECK(fleet.clock->waited() >= 10s);
  }
}

TEST_CASE("a claim that cannot be read back is an error and is freed later", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("make it"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("inspect", Fault::rejected);
  const auto try_it = [&] {
    try {
      (void)lock->lock_try("x");
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::outcome_unknown);
    }
    CHECK_FALSE(lock->held());
  };

  SECTION("it was applied") {
    a.store->fail("claim", Fault::lost_reply);
    try_it();
    CHECK(fleet.stored("balancer").taken());
    a.pinger->ping_round();
    CHECK_FALSE(fleet.stored("balancer").taken());
  }
  SECTION("it arrives in time after the first try to free it") {
    a.store->fail("claim", Fault::delayed);
    try_it();
    a.pinger->ping_round();
    a.store->deliver();
    CHECK(fleet.stored("balancer").taken());
    fleet.clock->advance(30s);
    a.pinger->ping_round();
    CHECK_FALSE(fleet.stored("balancer").taken());
  }
  SECTION("it never arrives") {
    a.store->fail("claim", Fault::lost_request);
    try_it();
    for (int i = 0; i < 5; ++i) {
      fleet.clock->advance(30s);
      a.pinger->ping_round();
    }
    a.store->forget_calls();
    a.pinger->ping_round();
    CHECK(a.store->calls("release") == 0);
  }
}

TEST_CASE("a claim that was rejected is an error and nothing is held", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->fail("claim", Fault::rejected);
  CHECK_THROWS_AS(lock->lock_try("x"), Error);
  CHECK_FALSE(lock->held());
  CHECK(lock->lock_try("again"));
}

TEST_CASE("fences grow with every claim", "[lock][R10]") {
  Fleet fleet;
  Fence last = 0;
  for (int i = 0; i < 5; ++i) {
    const auto lock = fleet.process("p" + std::to_string(i)).lock("balancer");
    REQUIRE(lock->lock_try("x"));
    CHECK(lock->fence() == last + 1);
    last = lock->fence();
    if (i % 2 == 0) {
      REQUIRE(lock->unlock() == UnlockResult::released);
    } else {
      fleet.clock->advance(16min);
    }
  }
}

TEST_CASE("unlock tries three times, with the original's pauses", "[lock][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));

  SECTION("and the third may do it") {
    a.store->fail("release", Fault::rejected, 2);
    CHECK(lock->unlock() == UnlockResult::released);
    CHECK(fleet.clock->waited() == 6s);
  }
  SECTION("and leaves it to the pinger after that") {
    a.store->fail("release", Fault::rejected, 3);
    CHECK(lock->unlock() == UnlockResult::pending);
    CHECK(a.store->calls("release") == 3);
    CHECK(fleet.clock->waited() == 6s);
    CHECK_FALSE(lock->held());
    a.store->fail("release", Fault::rejected);
    a.pinger->ping_round();
    CHECK(fleet.stored("balancer").taken());
    a.pinger->ping_round();
    CHECK_FALSE(fleet.stored("balancer").taken());
  }
  SECTION("and a lost reply does not make it a stranger's") {
    a.store->fail("release", Fault::lost_reply);
    CHECK(lock->unlock() == UnlockResult::released);
  }
  SECTION("and does not wait where the answer is known") {
    REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
    CHECK(lock->unlock() == UnlockResult::not_ours);
    CHECK(a.store->calls("release") == 1);
    CHECK(fleet.clock->waited() == 0s);
  }
}

TEST_CASE("unlocking what is not held asks nobody", "[lock][R3]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  CHECK(lock->unlock() == UnlockResult::not_ours);
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->forget_calls();
  CHECK(lock->unlock() == UnlockResult::not_ours);
  CHECK(a.store->calls() == 0);
}

TEST_CASE("the destructor unlocks", "[lock][R11]") {
  Fleet fleet;
  auto lock = fleet.process("a").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  lock.reset();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("locking again by the holding thread is an error, by another busy", "[lock]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  try {
    (void)lock->lock_try("y");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::already_held);
  }
  bool got = true;
  LockRecord other;
  boost::thread([&] { got = lock->lock_try("y", &other); }).join();
  CHECK_FALSE(got);
  CHECK(other.ts == lock->record().ts);
  CHECK(lock->held());
}

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
  CHECK_THROWS_AS(lock->check(), Error);
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
  CHECK_THROWS_AS(lock->lock_try("y"), Error);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a claim that took too long is given back", "[lock][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("make it"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  // The request hangs behind its effect.
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] { fleet.clock->advance(16min); });
  LockRecord other;
  CHECK_THROWS_AS(
      [&] {
        a.store->fail("ping", Fault::rejected, 3);
        if (!lock->lock_try("x", &other)) throw Error(Errc::lock_lost, "not got");
      }(),
      Error);
  CHECK_FALSE(lock->held());
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("dist_lock_try locks while it lives and can be moved", "[lock][raii]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  const auto rival = fleet.process("b").lock("balancer");
  {
    dist_lock_try first(lock.get(), "doing balance round");
    REQUIRE(first.got());
    CHECK(first.fence() == 1);
    dist_lock_try moved(std::move(first));
    CHECK(moved.got());
    CHECK_FALSE(first.got());
    dist_lock_try second(rival.get(), "me, too");
    CHECK_FALSE(second);
    CHECK(second.other().process == "a");
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("bad arguments are refused before the store is asked", "[lock][input]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  CHECK_THROWS_AS(a.lock(""), Error);
  CHECK_THROWS_AS(a.lock("x", {.takeover_after = 0ms}), Error);
  CHECK_THROWS_AS(a.lock("x", {.takeover_after = 40s}), Error);
  CHECK_THROWS_AS(DistributedLock(nullptr, "x"), Error);
  CHECK_THROWS_AS(a.lock("x")->lock_try("\xff"), Error);
  CHECK_THROWS_AS(DistributedLock(ConnectionString{"memory:"}, "x", 0), Error);
  CHECK_THROWS_AS(DistributedLock(ConnectionString{"memory:"}, "x", 1'000'000'000), Error);
  CHECK(a.store->calls() == 0);
}
