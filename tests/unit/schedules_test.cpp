// Schedules that a single wrong line in the shell around protocol.h lets through: each kills a
// planted bug that no other test noticed.
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <map>

#include "store_clock_history.h"
#include "stores/memory_store.h"
#include "support/fleet.h"
#include "validity.h"

using namespace distlock;
using namespace std::chrono_literals;
using distlock::testing::Fault;
using distlock::testing::FaultyStore;
using distlock::testing::Fleet;
using std::chrono::milliseconds;

namespace {

/// A server's wall clock, as all its clients see it: it can be stepped, and replaced by another.
struct ServerClock {
  milliseconds off{0};
  std::string name = "c1";
  std::map<std::string, std::pair<milliseconds, std::string>> stamped;
};

/// A handle on a store that is timed by such a clock, and answers an ordinary read with what was
/// there when `freeze()` was called.
class ServerStore : public FaultyStore {
 public:
  ServerStore(std::shared_ptr<Store> inner, std::shared_ptr<ServerClock> clock)
      : FaultyStore(std::move(inner)), clock_(std::move(clock)) {}

  void freeze(const std::string& name) { frozen_ = inspect(name, Freshness::fresh); }

  Inspection inspect(std::string_view name, Freshness freshness) override {
    if (frozen_ && freshness == Freshness::ordinary) {
      Inspection stale = *frozen_;
      stale.now = FaultyStore::inspect(name, freshness).now;
      stale.now->time += clock_->off;
      stale.now->clock = clock_->name;
      stale.now->steady = false;
      stale.fresh = false;
      return stale;
    }
    Inspection seen = FaultyStore::inspect(name, freshness);
    seen.now->time += clock_->off;
    seen.now->clock = clock_->name;
    seen.now->steady = false;
    if (seen.ping) {
      const auto& [off, by] = clock_->stamped.at(seen.ping->process);
      seen.ping->ping += off;
      seen.ping->clock = by;
    }
    return seen;
  }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    cutoffs.push_back(claim.cutoff);
    if (claim.cutoff.clock != clock_->name) return std::nullopt;
    Claim inner = claim;
    inner.cutoff = {claim.cutoff.time - clock_->off, "memory"};
    return FaultyStore::claim(name, basis, inner);
  }
  PingRecord ping(std::string_view process) override {
    PingRecord ping = FaultyStore::ping(process);
    clock_->stamped[std::string(process)] = {clock_->off, clock_->name};
    return {ping.process, ping.ping + clock_->off, clock_->name};
  }

  std::vector<StoreNow> cutoffs;

 private:
  std::shared_ptr<ServerClock> clock_;
  std::optional<Inspection> frozen_;
};

struct ServerProcess {
  std::shared_ptr<ServerStore> store;
  std::shared_ptr<DistributedLockPinger> pinger;
  std::unique_ptr<DistributedLock> lock(const std::string& name,
                                        const LockOptions& options = {}) const {
    return std::make_unique<DistributedLock>(pinger, name, options);
  }
};

class ServerFleet : public Fleet {
 public:
  ServerProcess on_server(const std::string& name) {
    const auto handle = std::make_shared<ServerStore>(store, server);
    auto random = [state = std::hash<std::string>{}(name)]() mutable {
      return state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    };
    return {handle,
            std::make_shared<DistributedLockPinger>(
                Environment{.store = handle, .clock = clock, .process = name, .random = random},
                PingerOptions{}, PingerDrive::caller)};
  }
  /// The site's wall clocks all step, that of the contender, too: only a steady clock can tell.
  void step(milliseconds by) {
    server->off += by;
    clock->set_wall_off(server->off);
  }
  std::shared_ptr<ServerClock> server = std::make_shared<ServerClock>();
};

}  // namespace

TEST_CASE("a step that only looks have shown refuses takeover", "[schedule][R5]") {
  ServerFleet fleet;
  const auto held = fleet.on_server("h").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto contender = fleet.on_server("b").lock("balancer");
  REQUIRE_FALSE(contender->lock_try("y"));
  fleet.clock->advance(10min);
  fleet.step(15min);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(held->held());
}

TEST_CASE("a step that only pings have shown refuses takeover", "[schedule][R5]") {
  ServerFleet fleet;
  const auto held = fleet.on_server("h").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.on_server("b");
  const auto contender = b.lock("balancer");
  b.pinger->ping_round();
  fleet.clock->advance(10min);
  fleet.step(15min);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(held->held());
}

TEST_CASE("a step within the lock's own tolerance does not", "[schedule][R5]") {
  ServerFleet fleet;
  const auto held = fleet.on_server("h").lock("balancer", {.takeover_after = 2min});
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.on_server("b");
  const auto contender = b.lock("balancer", {.takeover_after = 2min});  // 7.5 s
  REQUIRE_FALSE(contender->lock_try("y"));

  SECTION("below it") {
    fleet.step(7500ms);
    fleet.clock->advance(112500ms);
    CHECK_FALSE(held->held());
    CHECK(contender->lock_try("y"));
  }
  SECTION("above it, though below the default") {
    fleet.step(7501ms);
    fleet.clock->advance(112500ms);
    CHECK_FALSE(contender->lock_try("y"));
  }
}

TEST_CASE("a claim is read back freshly", "[schedule][R8]") {
  ServerFleet fleet;
  const auto a = fleet.on_server("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->freeze("balancer");
  a.store->fail("claim", Fault::lost_reply);
  REQUIRE(lock->lock_try("y"));
  CHECK(lock->fence() == 2);
  CHECK(fleet.clock->waited() == 0s);
}

TEST_CASE("another clock does not tell that a cutoff has passed", "[schedule][R4][R8]") {
  ServerFleet fleet;
  const auto a = fleet.on_server("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("claim", Fault::delayed);
  // A fail-over to a member that is ahead by an hour, before the read-back.
  a.store->before("inspect", [&] {
    fleet.server->name = "c2";
    fleet.server->off = 1h;
  });
  CHECK_THROWS_AS(lock->lock_try("y"), Error);
  CHECK_FALSE(lock->held());
  a.store->forget_calls();
  a.pinger->ping_round();
  CHECK(a.store->calls("release") == 1);
}

TEST_CASE("a claim has one call's time and not more", "[schedule][R8]") {
  ServerFleet fleet;
  const auto a = fleet.on_server("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  const StoreTime pinged = fleet.store->list().pings.front().record->ping;
  fleet.clock->advance(40s);
  REQUIRE(lock->lock_try("x"));
  REQUIRE(a.store->cutoffs.size() == 1);
  CHECK(a.store->cutoffs[0].time == pinged + 40s + a.store->call_limit());
}

TEST_CASE("a ping that is confirmed after the deadline comes too late", "[schedule][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min + 25s);
  a.store->before("ping", [&] { fleet.clock->advance(5s); });
  a.pinger->ping_round();
  CHECK_FALSE(lock->held());
}

TEST_CASE("a ping confirmed at the deadline comes too late", "[validity][R9]") {
  Validity validity(10s);
  validity.begin(SteadyTime{100s});
  validity.extend(SteadyTime{105s}, SteadyTime{110s});
  CHECK(validity.until() == SteadyTime::min());
}

TEST_CASE("a ping overtaken by a later one counts for nothing", "[schedule][R9]") {
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

TEST_CASE("a lock that is being released is not held", "[schedule][R9]") {
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

TEST_CASE("a stop in the middle of a release that fails leaves the ping", "[schedule][R7][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 3);
  a.store->before("release", [&] { a.pinger->stop(); });
  REQUIRE(lock->unlock() == UnlockResult::pending);
  CHECK(fleet.store->list().pings.size() == 1);
}

TEST_CASE("a claim given back too late is free again at once", "[schedule][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] {
    fleet.clock->advance(15min + 30s);
    a.store->fail("ping", Fault::rejected);
    a.store->before("inspect", [&] { CHECK_FALSE(fleet.stored("balancer").taken()); });
  });
  CHECK_THROWS_AS(lock->lock_try("y"), Error);
  CHECK_FALSE(lock->held());
  CHECK(a.store->calls("release") == 2);
}

TEST_CASE("a pending claim is kept for as long as it may arrive", "[schedule][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  const auto sent = fleet.clock->steady_now();
  a.store->fail("claim", Fault::lost_request);
  a.store->fail("inspect", Fault::rejected);
  CHECK_THROWS_AS(lock->lock_try("y"), Error);
  a.store->forget_calls();
  const auto asked_at = [&](std::chrono::nanoseconds after) {
    fleet.clock->wait_until(sent + after, {});
    const int before = a.store->calls("release");
    a.pinger->ping_round();
    return a.store->calls("release") - before;
  };
  CHECK(asked_at(10s) == 1);
  CHECK(asked_at(20s) == 1);
  CHECK(asked_at(60s - 1ms) == 1);  // three call limits and the largest skew
  CHECK(asked_at(60s) == 1);        // the last
  CHECK(asked_at(61s) == 0);
}

TEST_CASE("a pending claim is asked for before, not after, it is settled", "[schedule][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  const auto sent = fleet.clock->steady_now();
  a.store->fail("claim", Fault::lost_request);
  a.store->fail("inspect", Fault::rejected);
  CHECK_THROWS_AS(lock->lock_try("y"), Error);
  fleet.clock->wait_until(sent + 49s, {});
  a.store->before("release", [&] { fleet.clock->advance(5s); });
  a.pinger->ping_round();
  a.store->forget_calls();
  a.pinger->ping_round();
  CHECK(a.store->calls("release") == 1);
}

TEST_CASE("two pending releases of one lock are two", "[schedule][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto one = a.lock("balancer");
  REQUIRE(one->lock_try("x"));
  REQUIRE(one->unlock() == UnlockResult::released);
  const auto lose = [&] {
    a.store->fail("claim", Fault::lost_request);
    a.store->fail("inspect", Fault::rejected);
    // Known to be free, so that it is claimed at once.
    REQUIRE_THROWS_AS(one->lock_try("y"), Error);
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

TEST_CASE("an unlock of unknown outcome is tried again", "[schedule][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::lost_request, 2);
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK_FALSE(fleet.stored("balancer").taken());
  CHECK(a.store->calls("release") == 3);
}

TEST_CASE("patience counts from the last answer of the store", "[schedule][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  int looks = 0;
  std::function<void()> count = [&] {
    if (++looks == 100) b.store->fail("inspect", Fault::rejected, 5);
    if (looks == 110) REQUIRE(held->unlock() == UnlockResult::released);
    b.store->before("inspect", count);
  };
  b.store->before("inspect", count);
  CHECK_NOTHROW(waiter->lock());
  CHECK(fleet.clock->waited() > 60s);
}

TEST_CASE("tokens differ within one second", "[schedule][R2]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const Token first = *lock->record().ts;
  REQUIRE(lock->unlock() == UnlockResult::released);
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->record().ts != first);
}

TEST_CASE("a new lock after a fail-over is claimed by the new clock", "[schedule][R4][R8]") {
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
  const auto store = std::make_shared<Timeless>(fleet.store, fleet.server);
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = fleet.clock, .process = "a"}, PingerOptions{},
      PingerDrive::caller);
  pinger->ping_round();
  fleet.server->name = "c2";
  DistributedLock lock(pinger, "balancer");
  CHECK(lock.lock_try("x"));
}

TEST_CASE("an outdated word of mouth is no reason to claim twice", "[schedule][cost]") {
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

TEST_CASE("a claim counts from before the last ping was sent", "[schedule][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const SteadyTime sent = fleet.clock->steady_now();
  a.store->before("ping", [&] { fleet.clock->advance(8s); });
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->valid_until() == sent + 16min - 70s - 960ms);
}

TEST_CASE("a stop while a claim may still arrive leaves the ping", "[schedule][R7][R8][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("claim", Fault::delayed);
  a.store->fail("inspect", Fault::rejected);
  CHECK_THROWS_AS(lock->lock_try("y"), Error);
  a.pinger->stop();
  a.store->deliver();
  REQUIRE(fleet.stored("balancer").taken());
  CHECK(fleet.store->list().pings.size() == 1);
}

TEST_CASE("who never pinged has no ping to remove", "[schedule][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.pinger->stop();
  CHECK(a.store->calls() == 0);
}

TEST_CASE("a claim that was broken before its read-back is not held", "[schedule][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] {
    const LockRecord claimed = fleet.stored("balancer");
    REQUIRE(fleet.store->release("balancer", *claimed.ts) == ReleaseResult::freed);
  });
  REQUIRE(lock->lock_try("y"));
  CHECK(lock->fence() == 3);
  CHECK(fleet.stored("balancer").taken());
}

TEST_CASE("at its cutoff a claim may still arrive", "[schedule][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
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

TEST_CASE("a hold says how long its silence must last", "[schedule][R6]") {
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

TEST_CASE("pings without a clock are kept for four days, not less", "[schedule][R13]") {
  Fleet fleet;
  const auto opened = open_memory_store(fleet.clock, {});
  const StoreTime now = opened.store->list().now.time;
  opened.tables.put_ping({{"_id", std::string("old")}, {"ping", now - 96h}});
  CHECK(opened.store->forget_pings(96h) == 0);
  fleet.clock->advance(1ms);
  CHECK(opened.store->forget_pings(96h) == 1);
}

TEST_CASE("a stop ends a pause at once", "[schedule][R15]") {
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock held(pinger, "balancer");
  REQUIRE(held.lock_try("x"));
  DistributedLock waiter(pinger, "balancer", {.poll_min = 50s, .poll_max = 50s});
  std::stop_source stop;
  const int before = store->calls("inspect");
  bool got = true;
  boost::thread thread([&] { got = waiter.lock(stop.get_token()); });
  while (store->calls("inspect") == before) boost::this_thread::yield();
  const SteadyTime asked = host_clock()->steady_now();
  stop.request_stop();
  thread.join();
  CHECK_FALSE(got);
  CHECK(host_clock()->steady_now() - asked < 20s);
}
