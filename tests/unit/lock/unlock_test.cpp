#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

#include "support/fleet.h"
#include "support/still_clock.h"
#include "support/tampering.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

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

TEST_CASE("an unlock that one attempt of several may have done is the caller's",
          "[lock][R3][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::lost_reply);
  SECTION("though the next was rejected") { a.store->fail("release", Fault::rejected); }
  SECTION("though its deadline has passed since") {
    a.store->after_lost_reply = [&] { fleet.clock->advance(20min); };
  }
  CHECK(lock->unlock() == UnlockResult::released);
}

TEST_CASE("an unlock by name ends the hold of that token and fence, by any thread", "[lock][R3]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const LockRecord hold = lock->record();
  LockRecord another = hold;
  another.ts = Token{{1}};
  CHECK(lock->unlock(another) == UnlockResult::not_ours);
  CHECK(lock->unlock(*another.ts) == UnlockResult::not_ours);
  CHECK(lock->held());
  UnlockResult result = UnlockResult::pending;
  boost::thread([&] { result = lock->unlock(*hold.ts); }).join();
  CHECK(result == UnlockResult::released);
}

TEST_CASE("a lock that is being released is not unlocked again", "[lock][R3]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->before("release", [&] {
    CHECK(lock->unlock() == UnlockResult::not_ours);
    CHECK_FALSE(lock->lock_try("at once"));
  });
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(a.store->calls("release") == 1);
}

TEST_CASE("unlocking a lock that is not held calls no store", "[lock][R3]") {
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

// A guard of a thread whose hold ran out, at the end of its scope.
TEST_CASE("other threads find a hold that ran out busy until its thread unlocks", "[lock][R3]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  bool next_got = false;
  {
    const std::lock_guard guard(*lock);
    fleet.clock->advance(15min + 40s);  // its deadline has passed, nobody took over
    a.pinger->ping_round();
    boost::thread([&] { next_got = lock->lock_try("next"); }).join();
    CHECK_FALSE(next_got);
    CHECK(fleet.stored("balancer").taken());
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a dist_lock_try that lost its hold does not free a later one", "[lock][R3]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  auto first = std::make_unique<dist_lock_try>(lock.get(), "first");
  REQUIRE(first->got());
  fleet.clock->advance(15min + 40s);
  a.pinger->ping_round();
  dist_lock_try second(lock.get(), "second");
  REQUIRE(second.got());
  first.reset();
  CHECK(lock->held());
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("unlock does not wait where the answer is an error that stays", "[lock][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  tamper(fleet.memory.tables, "balancer", "state", std::int32_t{7});
  CHECK(lock->unlock() == UnlockResult::pending);
  CHECK(a.store->calls("release") == 1);
  CHECK_FALSE(lock->held());
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("unlock does not wait for a store that was replaced", "[lock][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->during_each_call([](const std::string& call) {
    if (call == "release") throw Error(Errc::store_replaced, "the file is gone");
  });
  CHECK(lock->unlock() == UnlockResult::pending);
  CHECK(fleet.clock->waited() == 0s);
  // It may have been moved, and moved back.
  a.store->during_each_call({});
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("an unlock of unknown outcome is tried again", "[lock][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::lost_request, 2);
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK_FALSE(fleet.stored("balancer").taken());
  CHECK(a.store->calls("release") == 3);
}

// A lost request, then a takeover, is not "released".
TEST_CASE("an unlock that nobody applied is not called released", "[lock][R8][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const auto rival = fleet.process("b").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::lost_request);
  a.store->before("release", [&] {
    a.store->before("release", [&] {
      fleet.clock->advance(16min);
      REQUIRE(rival->lock_try("takeover"));
    });
  });
  CHECK(lock->unlock() == UnlockResult::not_ours);
  CHECK(rival->held());
  CHECK(fleet.stored("balancer").ts == rival->record().ts);
}

// The reply of a release was lost, and the same process holds anew when it is repeated.
TEST_CASE("a repeated release does not free the next hold of the same process", "[lock][R3][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const auto next = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::lost_reply);
  a.store->before("release",
                  [&] { a.store->before("release", [&] { REQUIRE(next->lock_try("y")); }); });
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(a.store->calls("release") == 2);
  CHECK(next->held());
  CHECK(fleet.stored("balancer").ts == next->record().ts);
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("a lock whose release failed can be had again after the next good ping", "[lock][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 3);
  REQUIRE(lock->unlock() == UnlockResult::pending);
  a.pinger->ping_round();
  REQUIRE(lock->lock_try("y"));
  a.pinger->ping_round();
  CHECK(lock->held());
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("a release that was lost is ours although a rival has claimed since", "[lock][R3][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const auto rival = fleet.process("b").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::lost_reply);
  a.store->before("release",
                  [&] { a.store->before("release", [&] { REQUIRE(rival->lock_try("y")); }); });
  // Nobody else can have ended the hold before its deadline.
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(fleet.stored("balancer").process == "b");
}

TEST_CASE("a hold that was not ours any more is not claimed from", "[lock][R3][cost]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
  REQUIRE(fleet.process("b").lock("balancer")->lock_try("y"));
  REQUIRE(lock->unlock() == UnlockResult::not_ours);
  a.store->forget_calls();
  REQUIRE(lock->lock_try("again"));
  CHECK(a.store->calls("claim") == 1);
}

TEST_CASE("an unlock wakes a thread that waits for the same object", "[lock][R20]") {
  const auto clock = std::make_shared<StillClock>();
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = make_memory_store(clock), .clock = clock, .process = "a", .random = {}});
  DistributedLock lock(pinger, "balancer", {.recheck = 1h});
  REQUIRE(lock.lock_try("nobody waits yet"));
  std::thread waiting([&] { lock.lock(); });
  while (!clock->waits(waiting.get_id())) std::this_thread::yield();
  CHECK(lock.unlock() == UnlockResult::released);
  waiting.join();
  CHECK(lock.held());
}

TEST_CASE("a stop of the pinger cuts the pauses of an unlock short", "[lock][R11][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 3);
  a.store->before("release", [&] { a.pinger->stop(); });
  CHECK(lock->unlock() == UnlockResult::pending);
  CHECK(a.store->calls("release") == 3);
  CHECK(fleet.clock->waited() == 0s);
}
