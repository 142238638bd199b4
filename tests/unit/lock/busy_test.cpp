// lock_try() says busy only of a lock that was taken. Any other failure to get it is an error.
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "distlock/line.h"
#include "support/dead_holder.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

// Refuses so many claims, as if somebody else had always just been quicker.
class RefusingStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    if (refusals == 0) return FaultyStore::claim(name, basis, claim);
    --refusals;
    return std::nullopt;
  }
  int refusals = 0;
};

}  // namespace

TEST_CASE("busy is said of a lock that was taken, and of no other", "[lock][R2][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  LockRecord other{.name = "untouched"};
  const auto claim = [&] { (void)lock->lock_try("y", &other); };
  const bool absent = GENERATE(true, false);
  if (!absent) make_known_free(*lock);

  SECTION("claims that the store does not apply are an error") {
    a.store->fail("claim", Fault::lost_request, 100);
    CHECK(thrown_by(claim) == Errc::outcome_unknown);
  }
  SECTION("claims that come to the store too late are an error") {
    std::function<void()> delay = [&] {
      fleet.clock->advance(a.store->call_limit() + 1s);
      a.store->before("claim", delay);
    };
    a.store->before("claim", delay);
    CHECK(thrown_by(claim) == Errc::not_applied);
    a.store->before("claim", {});
  }
  CHECK(other.name == "untouched");
  CHECK_FALSE(lock->held());
}

TEST_CASE("grants that come too late to be held are an error, not busy", "[lock][R2][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  std::function<void()> pause = [&] {
    fleet.clock->advance(16min);
    a.store->after("claim", pause);
  };
  a.store->after("claim", pause);
  CHECK_THROWS_WITH(lock->lock_try("y"), Catch::Contains("lock \"balancer\": the store granted") &&
                                             Catch::Contains("so late"));
  CHECK_FALSE(fleet.stored("balancer").taken());
  a.store->after("claim", {});
}

TEST_CASE("a takeover that the store does not apply is an error", "[lock][R2][R6]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process("b");
  const auto contender = b.lock("balancer");
  b.store->fail("claim", Fault::lost_request, 100);
  CHECK(thrown_by([&] { (void)contender->lock_try("y"); }) == Errc::outcome_unknown);
  CHECK(fleet.stored("balancer").process == "dead");
}

TEST_CASE("a lock is busy whose dead holder the store lets nobody take over from",
          "[lock][R2][R6]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process_with(std::make_shared<RefusingStore>(fleet.store), "b");
  b.store->refusals = 100;
  LockRecord other;
  CHECK_FALSE(b.lock("balancer")->lock_try("y", &other));
  CHECK(other.process == "dead");
}

TEST_CASE("a claim of a free lock that is refused costs no ping", "[lock][cost][R2]") {
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<RefusingStore>(fleet.store), "a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->forget_calls();
  a.store->refusals = 2;
  CHECK(lock->lock_try("y"));
  CHECK(a.store->calls("ping") == 0);
}

TEST_CASE("a reclaim of unknown outcome is an error", "[lock][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min);
  a.store->fail("claim", Fault::lost_request);
  try {
    (void)lock->reclaim("y");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::outcome_unknown);
    CHECK_THAT(error.what(), Catch::Contains("claim lost by the test"));
  }
  CHECK_FALSE(lock->held());
}

TEST_CASE("a late grant that cannot be given back is not said to be", "[lock][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min);
  a.store->after("claim", [&] { fleet.clock->advance(15min); });
  const bool answers = GENERATE(true, false);
  if (!answers) a.store->fail("release", Fault::rejected, 3);
  CHECK_THROWS_WITH(lock->reclaim("y"),
                    Catch::Contains("the store granted a claim so late") &&
                        Catch::Contains(answers ? "it was given back" : "it will be given back"));
  CHECK(fleet.stored("balancer").taken() == !answers);
}

// It has the lock until the pinger frees it.
TEST_CASE("an attempt whose late grant stays in the store does not say that nothing was applied",
          "[lock][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->after("claim", [&] {
    fleet.clock->advance(20min);
    for (const char* call : {"release", "inspect"}) a.store->fail(call, Fault::rejected, 100);
  });
  CHECK(thrown_by([&] { (void)lock->lock_try("x"); }) == Errc::outcome_unknown);
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("a wait for a lock whose store applies no claim ends with the store's patience",
          "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer", {.store_patience = 2min});
  a.store->fail("claim", Fault::lost_request, 1000);
  CHECK(thrown_by([&] { (void)lock->try_lock_for(24h); }) == Errc::outcome_unknown);
  CHECK(fleet.clock->waited() < 10min);
}

TEST_CASE("a wait in line ends where no takeover from a dead holder is applied",
          "[lock][R2][R6][R15][R18]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process("b");
  b.store->has_line = true;
  const auto waiter = b.lock("balancer");
  // Looks, pings and requests for a place succeed all the time.
  b.store->fail("claim", GENERATE(Fault::lost_request, Fault::rejected), 100'000);
  const auto waited_from = fleet.clock->waited();
  SECTION("without a deadline after the patience") {
    CHECK_THROWS_AS(waiter->lock(), Error);
    CHECK(fleet.clock->waited() >= waited_from + 30s);
    CHECK(fleet.clock->waited() <= waited_from + 60s);
  }
  SECTION("with one by the deadline, and with its error") {
    CHECK_THROWS_AS(waiter->try_lock_for(20s), Error);
    CHECK(fleet.clock->waited() <= waited_from + 21s);
  }
  CHECK(fleet.stored("balancer").process == "dead");
}

TEST_CASE("a takeover that failed is forgotten once the lock is another's",
          "[lock][R2][R6][R15][R18]") {
  Fleet fleet;
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process("b");
  b.store->has_line = true;
  const auto waiter = b.lock("balancer", {.recheck = 1h});
  const auto rival = fleet.process("c").lock("balancer");
  b.store->fail("claim", Fault::rejected, 1);
  b.store->before("claim",
                  [&] { b.store->before("claim", [&] { REQUIRE(rival->lock_try("y")); }); });
  CHECK_FALSE(waiter->try_lock_for(20s));
  CHECK(rival->held());
}

TEST_CASE("patience with a takeover that fails counts anew from the next dead holder",
          "[waiting][R6][R15][R18]") {
  Fleet fleet;
  fleet.store->ping("next", {});
  const auto dead = dead_holder(fleet);
  const auto b = fleet.process("b");
  b.store->has_line = true;
  const auto waiter = b.lock("balancer", {.store_patience = 30s});
  const SteadyTime begun = fleet.clock->steady_now();
  std::optional<SteadyTime> since;
  b.store->during_each_call([&](const std::string& call) {
    if (call != "claim") return;
    const SteadyTime now = fleet.clock->steady_now();
    const LockRecord seen = fleet.stored("balancer");
    if (seen.process == "next") {
      since = since.value_or(now);
    } else if (now >= begun + 20s) {
      const Claim claim = fleet.claim_by("next", Token{{9}});
      REQUIRE(fleet.store->claim("balancer", FromHold{*seen.ts}, claim));
      // Rung, the waiter asks for its place, and the store answers that.
      fleet.store->line()->ring("balancer", {"b"});
    }
    throw Error(Errc::not_applied, "no takeover now");
  });
  CHECK(thrown_by([&] { waiter->lock(); }) == Errc::not_applied);
  b.store->during_each_call({});
  REQUIRE(since);
  CHECK(fleet.clock->steady_now() >= *since + 30s);
  CHECK(fleet.clock->steady_now() <= *since + 32s);
}
