// Claims of which nobody knows whether they were applied, and how they are read back.
#include <catch2/catch.hpp>

#include "support/known_free.h"
#include "support/server_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

// The server has compared the cutoff already when it gets stuck.
class StuckStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    if (!std::exchange(stick, false)) {
      if (std::exchange(goes_on_at_next, false)) apply();
      return FaultyStore::claim(name, basis, claim);
    }
    Claim judged = claim;
    judged.cutoff.time += 1h;
    apply = [=, this, name = std::string(name)] { (void)FaultyStore::claim(name, basis, judged); };
    throw Error(Errc::outcome_unknown, "the connection was lost");
  }
  bool stick = false;
  bool goes_on_at_next = false;
  std::function<void()> apply;
};

}  // namespace

TEST_CASE("a claim that was rejected is an error and nothing is held", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->fail("claim", Fault::rejected);
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::not_applied);
  CHECK_FALSE(lock->held());
  CHECK(lock->lock_try("again"));
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
    CHECK(a.pinger->stats().pending_releases == 0);
    a.pinger->ping_round();
    CHECK(lock->still_held());
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

TEST_CASE("a claim whose read-back fails is read back once more after its cutoff", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("inspect", Fault::rejected);
  a.store->before("claim", [&] { fleet.clock->advance(3s); });
  const SteadyTime sent = fleet.clock->steady_now();

  SECTION("and is held if it was applied") {
    a.store->fail("claim", Fault::lost_reply);
    REQUIRE(lock->lock_try("y"));
    CHECK(lock->fence() == 2);
  }
  SECTION("and is claimed anew if not") {
    a.store->fail("claim", Fault::lost_request);
    REQUIRE(lock->lock_try("y"));
    CHECK(lock->record().ts == fleet.stored("balancer").ts);
  }
  CHECK(fleet.clock->steady_now() == sent + a.store->call_limit() * 9 / 8);
}

// As on MongoDB, where a look at an absent document tells no time.
TEST_CASE("a read-back that tells no time leaves the claim's outcome unknown", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->absent_tells_no_time = true;
  const auto lock = a.lock("balancer");
  a.store->fail("claim", Fault::lost_request);
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::outcome_unknown);
  CHECK(a.pinger->stats().pending_releases == 1);
}

TEST_CASE("a claim is read back freshly", "[lock][R8]") {
  ServerFleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->freeze("balancer");
  a.store->fail("claim", Fault::lost_reply);
  REQUIRE(lock->lock_try("y"));
  CHECK(lock->fence() == 2);
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("a claim that was broken before its read-back is not held", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] {
    const LockRecord claimed = fleet.stored("balancer");
    REQUIRE(fleet.store->release("balancer", *claimed.ts) == ReleaseResult::freed);
  });
  REQUIRE(lock->lock_try("y"));
  CHECK(lock->fence() == 3);
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("a claim has one call's time and not more", "[lock][R8]") {
  ServerFleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  const StoreTime pinged = fleet.store->list().pings.front().record->ping;
  fleet.clock->advance(40s);
  REQUIRE(lock->lock_try("x"));
  REQUIRE(a.store->cutoffs.size() == 1);
  CHECK(a.store->cutoffs[0].time == pinged + 40s + a.store->call_limit());
}

TEST_CASE("at its cutoff a claim may still arrive", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("claim", Fault::delayed);

  SECTION("so a read-back then waits") {
    a.store->before("inspect", [&] {
      fleet.clock->advance(10s);
      a.store->before("inspect", [&] { a.store->deliver(); });
    });
    REQUIRE(lock->lock_try("y"));
    CHECK(fleet.clock->waited() > 0s);
  }
  SECTION("and is written then") {
    a.store->before("inspect", [&] {
      fleet.clock->advance(10s);
      a.store->deliver();
    });
    REQUIRE(lock->lock_try("y"));
    CHECK(lock->fence() == 2);
    CHECK(fleet.clock->waited() == 0s);
  }
}

// Seen on mongod 6.0.5: $$NOW is taken before the write waits for its turn. A claim that began in
// time under an fsync lock was applied 2 s after reads had shown a clock past its cutoff.
TEST_CASE("a claim that began before its cutoff may be applied after it", "[lock][R8]") {
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<StuckStore>(fleet.store), "a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->stick = true;
  REQUIRE(lock->lock_try("y"));  // read back, past the cutoff, not there: claimed anew
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->apply();
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a claim of a call that comes late is not said to be another's", "[lock][R2][R8]") {
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<StuckStore>(fleet.store), "a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->stick = true;
  a.store->goes_on_at_next = true;
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  CHECK_FALSE(lock->held());
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
  CHECK(lock->lock_try("z"));
}

TEST_CASE("another clock does not tell that a cutoff has passed", "[lock][R4][R8]") {
  ServerFleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("claim", Fault::delayed);
  // A fail-over to a member that is ahead by an hour, before the read-back.
  a.store->before("inspect", [&] {
    fleet.server->name = "c2";
    fleet.server->off = 1h;
  });
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  CHECK_FALSE(lock->held());
  a.store->forget_calls();
  a.pinger->ping_round();
  CHECK(a.store->calls("release") == 1);
}

// The server was suspended together with its clock; the claim lay in its socket.
TEST_CASE("a delayed claim is waited for by the clock that cuts it off", "[lock][R8]") {
  const auto servers = std::make_shared<ManualClock>();
  Fleet fleet;
  fleet.store = make_memory_store(servers);
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("claim", Fault::delayed);
  a.store->fail("inspect", Fault::rejected, 2);
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::outcome_unknown);
  fleet.clock->advance(20min);  // the server's clock stood still
  a.pinger->ping_round();       // by another connection, served first: "not ours"
  a.store->deliver();           // its clock says that the cutoff has not passed
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    servers->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a new lock after a fail-over is claimed by the new clock", "[lock][R4][R8]") {
  // As MongoDB: a lock without a document is seen without the time.
  class Timeless : public ServerStore {
   public:
    using ServerStore::ServerStore;
    Inspection inspect(std::string_view name, Freshness freshness) override {
      Inspection seen = ServerStore::inspect(name, freshness);
      if (!seen.lock) seen.now.reset();
      return seen;
    }
  };
  ServerFleet fleet;
  const auto a = fleet.process_with(std::make_shared<Timeless>(fleet.store, fleet.server), "a");
  a.pinger->ping_round();
  fleet.server->name = "c2";
  CHECK(a.lock("balancer")->lock_try("x"));
}

TEST_CASE("a hold of this process that no object knows of is freed", "[unknown_outcome][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("held");
  REQUIRE(held->lock_try("x"));
  const StoreNow cutoff{fleet.store->list().now.time + 1h, "memory"};
  const Claim stray{.process = "a", .who = "a:1:1", .why = "", .ts = {{9}}, .cutoff = cutoff};
  REQUIRE(fleet.store->claim("stray", FromAbsent{}, stray));
  a.pinger->ping_round();
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("stray").taken());
  CHECK(fleet.stored("held").taken());
  CHECK(held->held());
}

TEST_CASE("an unlock during a round is no stray hold", "[unknown_outcome][R8]") {
  // Gives the list as it was before the unlock.
  class SlowList : public FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    std::vector<StoredHold> holds(std::string_view process) override {
      auto list = FaultyStore::holds(process);
      if (const auto action = std::exchange(after_holds, {})) action();
      return list;
    }
    std::function<void()> after_holds;
  };
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<SlowList>(fleet.store), "a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->after_holds = [&] { REQUIRE(lock->unlock() == UnlockResult::released); };
  a.store->forget_calls();
  a.pinger->ping_round();
  a.pinger->ping_round();
  CHECK(a.store->calls("release") == 1);
}
