// Holds that the pinger frees later: of claims that were not read back, of releases that failed.
#include <catch2/catch.hpp>
#include <new>

#include "protocol/protocol.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/tampering.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a claim that cannot be read back is an error and is freed later", "[lock][R8]") {
  Fleet fleet;
  fleet.store = make_memory_store(std::make_shared<ManualClock>());  // no cutoff passes
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("inspect", Fault::rejected, 2);
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

TEST_CASE("a pending claim is kept for as long as it may arrive", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  const auto sent = fleet.clock->steady_now();
  a.store->fail("claim", Fault::lost_request);
  a.store->fail("inspect", Fault::rejected, 2);
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  a.store->forget_calls();
  const auto asked_at = [&](std::chrono::nanoseconds after) {
    fleet.clock->wait_until(sent + after, {});
    const int before = a.store->calls("release");
    a.pinger->ping_round();
    return a.store->calls("release") - before;
  };
  CHECK(asked_at(10s) == 1);
  CHECK(asked_at(20s) == 1);
  CHECK(asked_at(90s - 1ms) == 1);  // three call limits and the largest skew, both ways
  CHECK(asked_at(90s) == 1);        // the last
  CHECK(asked_at(91s) == 0);
}

// The store's clock falls back after the claim was sent, from as far ahead as R5 lets pass to as
// far behind. Seen in the model of docs/developer/model.md.
TEST_CASE("a stop leaves the ping while a clock that fell back may let a claim through",
          "[lock][R7][R8][R12]") {
  const auto servers = std::make_shared<ManualClock>();
  Fleet fleet;
  fleet.store = make_memory_store(servers);
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer", {.max_clock_skew = 1s});
  make_known_free(*lock);
  a.store->fail("claim", Fault::delayed);
  a.store->fail("inspect", Fault::rejected, 2);
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  fleet.clock->advance(65s);
  servers->advance(5s);
  a.pinger->ping_round();  // "not ours"
  a.pinger->stop();
  a.store->deliver();
  REQUIRE(fleet.stored("balancer").taken());
  CHECK(fleet.store->list().pings.size() == 1);
}

TEST_CASE("a pending claim is asked for before, not after, it is settled", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  const auto sent = fleet.clock->steady_now();
  a.store->fail("claim", Fault::lost_request);
  a.store->fail("inspect", Fault::rejected, 2);
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  fleet.clock->wait_until(sent + 89s, {});
  a.store->before("release", [&] { fleet.clock->advance(5s); });
  a.pinger->ping_round();
  a.store->forget_calls();
  a.pinger->ping_round();
  CHECK(a.store->calls("release") == 1);
}

TEST_CASE("two pending releases of one lock are two", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto one = a.lock("balancer");
  make_known_free(*one);
  const auto lose = [&] {
    a.store->fail("claim", Fault::lost_request);
    a.store->fail("inspect", Fault::rejected, 2);
    // Known to be free, so that it is claimed at once.
    REQUIRE(thrown_by([&] { return one->lock_try("y"); }) == Errc::outcome_unknown);
  };
  lose();
  REQUIRE(one->lock_try("z"));
  a.store->fail("release", Fault::rejected, 3);
  REQUIRE(one->unlock() == UnlockResult::pending);
  a.store->forget_calls();
  a.pinger->ping_round();
  CHECK(a.store->calls("release") == 2);
  CHECK_FALSE(fleet.stored("balancer").taken());
  a.pinger->ping_round();
  CHECK(a.store->calls("release") == 3);
}

// One pending release that the store always refuses stands in front of all the others.
TEST_CASE("a pending release that cannot be done does not hold up the others", "[lock][R8][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto one = a.lock("one");
  const auto two = a.lock("two");
  REQUIRE(one->lock_try("x"));
  REQUIRE(two->lock_try("x"));
  a.store->fail("release", Fault::rejected, 6);
  REQUIRE(one->unlock() == UnlockResult::pending);
  REQUIRE(two->unlock() == UnlockResult::pending);
  tamper(fleet.memory.tables, "one", "state", std::int32_t{7});
  for (int i = 0; i < 10; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(fleet.stored("two").taken());
}

// The pinger works off all that is pending before it pings again.
TEST_CASE("many pending releases on a slow store do not cost a living hold", "[lock][R9][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("balancer");
  REQUIRE(held->lock_try("x"));
  for (int i = 0; i < 250; ++i) {
    const auto lock = a.lock("lock" + std::to_string(i));
    REQUIRE(lock->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(lock->unlock() == UnlockResult::pending);
  }
  std::function<void()> slowly = [&] {
    fleet.clock->advance(4s);  // within the limit of 10 s
    a.store->before("release", slowly);
  };
  a.store->before("release", slowly);
  REQUIRE(held->held());
  for (int i = 0; i < 40 && held->held(); ++i) {
    const SteadyTime next = a.pinger->ping_round();
    fleet.clock->wait_until(next, {});
  }
  CHECK(held->held());
  a.store->before("release", {});
}

TEST_CASE("a claim goes out on a young ping, however long pending releases took",
          "[lock][R7][R9]") {
  Fleet fleet;
  fleet.store = make_memory_store(fleet.clock, {.call_limit = 10s});
  const auto a = fleet.process("a", {.ping_every = 10s});
  const LockOptions options{.takeover_after = GENERATE(45'800ms, 60s)};
  for (const std::string name : {"one", "two"}) {
    const auto pending = a.lock(name, options);
    REQUIRE(pending->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(pending->unlock() == UnlockResult::pending);
  }
  const auto lock = a.lock("balancer", options);
  fleet.clock->advance(1min);
  SteadyTime pinged;
  std::chrono::nanoseconds age{0};
  a.store->forget_calls();
  a.store->during_each_call([&](const std::string& call) {
    const SteadyTime now = fleet.clock->steady_now();
    if (call == "ping") pinged = now;
    if (call == "claim") age = std::max(age, now - pinged);
    fleet.clock->advance(9s);
  });
  CHECK(lock->lock_try("x"));
  CHECK(age < protocol::validity(options, 10s) / 2);
  CHECK(a.store->calls("release") == 2);
  CHECK(a.store->calls("claim") == 1);
  a.store->during_each_call({});
}

TEST_CASE("a pending release that ends in another exception holds up no other", "[lock][R8][R11]") {
  class BreakingStore : public FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    ReleaseResult release(std::string_view name, const Token& ts) override {
      if (name == "one") throw std::bad_alloc();
      return FaultyStore::release(name, ts);
    }
  };
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<BreakingStore>(fleet.store), "a");
  const auto one = a.lock("one");
  const auto two = a.lock("two");
  REQUIRE(one->lock_try("x"));
  REQUIRE(two->lock_try("x"));
  REQUIRE(one->unlock() == UnlockResult::pending);
  a.store->fail("release", Fault::rejected, 3);
  REQUIRE(two->unlock() == UnlockResult::pending);
  a.pinger->ping_round();
  CHECK(fleet.stored("one").taken());
  CHECK_FALSE(fleet.stored("two").taken());
  CHECK(a.pinger->stats().pending_releases == 1);
}
