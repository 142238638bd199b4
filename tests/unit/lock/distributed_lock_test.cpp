#include "distlock/distributed_lock.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

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

TEST_CASE("a successful lock_try leaves *other untouched", "[lock]") {
  Fleet fleet;
  const auto a = fleet.process("a").lock("balancer");
  LockRecord other{.name = "untouched"};
  REQUIRE(a->lock_try("x", &other));
  CHECK(other.name == "untouched");
}

TEST_CASE("claims and releases take no more commands than promised", "[lock][cost]") {
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

TEST_CASE("a busy lock on a replica set costs one read", "[lock][cost]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto contender = fleet.process("b");
  contender.store->always_fresh = false;
  CHECK_FALSE(contender.lock("balancer")->lock_try("y"));
  CHECK(contender.store->calls() == 1);
}

TEST_CASE("after a claim from an outdated release the next look is enough", "[lock][cost]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  const auto rival = fleet.process("b").lock("balancer");
  REQUIRE(rival->lock_try("y"));
  REQUIRE_FALSE(lock->lock_try("x"));
  a.store->forget_calls();
  REQUIRE_FALSE(lock->lock_try("x"));
  CHECK(a.store->calls() == 1);
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
    CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::not_applied);
    CHECK(a.store->calls("claim") == 0);
    CHECK(lock->lock_try("again"));
  }
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

TEST_CASE("tokens differ within one second", "[lock][R2]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const Token first = *lock->record().ts;
  REQUIRE(lock->unlock() == UnlockResult::released);
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->record().ts != first);
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

TEST_CASE("while a thread claims, the others find the object busy", "[lock][R1]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->before("claim", [&] {
    bool got = true;
    boost::thread([&] { got = lock->lock_try("y"); }).join();
    CHECK_FALSE(got);
  });
  REQUIRE(lock->lock_try("x"));
  CHECK(a.store->calls("claim") == 1);
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
  CHECK(thrown_by([&] { return a.lock(""); }) == Errc::invalid_argument);
  CHECK(thrown_by([&] { return a.lock("x", {.takeover_after = 0ms}); }) == Errc::invalid_argument);
  CHECK(thrown_by([&] { return a.lock("x", {.takeover_after = 40s}); }) == Errc::invalid_argument);
  CHECK(thrown_by([&] { return DistributedLock(nullptr, "x"); }) == Errc::invalid_argument);
  CHECK(thrown_by([&] { return a.lock("x")->lock_try("\xff"); }) == Errc::invalid_argument);
  CHECK(thrown_by([&] { return DistributedLock(ConnectionString{"memory:"}, "x", 0); }) ==
        Errc::invalid_argument);
  CHECK(thrown_by([&] {
          return DistributedLock(ConnectionString{"memory:"}, "x", 1'000'000'000);
        }) == Errc::invalid_argument);
  CHECK(a.store->calls() == 0);
}

TEST_CASE("options beyond all sense are refused", "[lock][R9][input]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  CHECK(thrown_by([&] {
          return a.lock("x", {.max_clock_skew = std::chrono::milliseconds::max()});
        }) == Errc::invalid_argument);
  // Wraps round to a negative allowance: a deadline after the takeover.
  CHECK(thrown_by([&] {
          return a.lock("x", {.max_clock_skew = std::chrono::milliseconds{9223372036855}});
        }) == Errc::invalid_argument);

  // "For ever" is what anybody would write for patience.
  const auto b = fleet.process("b");
  b.store->fail("inspect", Fault::rejected, 5);
  const auto patient = b.lock("y", {.store_patience = std::chrono::milliseconds::max()});
  CHECK_NOTHROW(patient->lock());
}

TEST_CASE("the error of a lock that is not held shows its name escaped", "[lock][R14]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("jobs\x1b[2J");
  CHECK_THROWS_WITH(lock->check(), Catch::Contains("\"jobs\\x1b[2J\"") && !Catch::Contains("\x1b"));
}
