#include <catch2/catch.hpp>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

// A request for a place that arrives late may be granted when nobody waits for it any more. A
// lock that it gets must not stay held by a process without a ping: no contender could ever take it
// over (R7).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// Process "a", whose requests meet what the test says, on a store with lines.
struct Late {
  Late() { store->has_line = true; }

  void check_that_others_get_it() {
    const auto rival = fleet.process("rival").lock("jobs");
    bool got = false;
    for (int hour = 0; hour < 48 && !got; ++hour) {
      fleet.clock->advance(1h);
      got = rival->lock_try("mine");
    }
    CHECK(got);
  }
  void hold_in_between() {
    const auto other = fleet.process("b").lock("jobs");
    REQUIRE(other->lock_try("in between"));
    REQUIRE(other->unlock() == UnlockResult::released);
  }
  // The hold of a wait whose first request is still on its way. Another process has the lock then.
  std::unique_ptr<DistributedLock> granted_and_lost_to_other() {
    store->fail("stand", Fault::delayed);
    REQUIRE(lock->try_lock_for(1min));
    REQUIRE(fleet.store->release("jobs", *lock->record().ts) == ReleaseResult::freed);
    auto other = fleet.process("b").lock("jobs");
    REQUIRE(other->lock_try("in between"));
    return other;
  }
  std::size_t pending() const { return a.pinger->stats().pending_releases; }

  Fleet fleet;
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(fleet.store);
  distlock::testing::Process a = fleet.process_with(store, "a");
  std::unique_ptr<DistributedLock> lock = a.lock("jobs");
};

}  // namespace

TEST_CASE("a release that finds the lock free settles no ticket that may still arrive",
          "[waiting][R8][R18]") {
  Late late;
  late.store->fail("stand", Fault::delayed);
  REQUIRE(late.lock->try_lock_for(1min));
  REQUIRE(late.lock->unlock() == UnlockResult::released);
  SECTION("at a ping round") {
    late.a.pinger->ping_round();
    CHECK(late.pending() == 1);
  }
  SECTION("at a stop, whose ping stays for it") {
    late.a.pinger->stop();
    CHECK(late.fleet.store->list().pings.size() == 1);
    late.hold_in_between();
    late.store->deliver();
    REQUIRE(late.fleet.stored("jobs").taken());
    late.check_that_others_get_it();
  }
}

TEST_CASE("of two releases of one ticket the later end counts", "[waiting][R8][R18]") {
  Late late;
  const auto other = late.granted_and_lost_to_other();
  late.store->fail("release", Fault::rejected, 3);
  CHECK(late.lock->unlock() == UnlockResult::pending);
  CHECK(late.pending() == 1);
  late.a.pinger->ping_round();
  CHECK(late.pending() == 1);
  late.fleet.clock->advance(5min);
  late.a.pinger->ping_round();
  CHECK(late.pending() == 0);
}

TEST_CASE("a doubtful ticket is left pending where a takeover of unknown outcome needs a new one",
          "[waiting][R8][R18]") {
  Late late;
  const auto dead = late.fleet.process("dead").lock("jobs");
  REQUIRE(dead->lock_try("before it died"));
  late.fleet.clock->advance(17min);
  late.store->fail("stand", Fault::delayed);
  late.store->fail("claim", Fault::lost_request);
  LockRecord other;
  REQUIRE(late.lock->try_lock_for(1min, {}, "waits", &other));
  CHECK(late.pending() == 1);
  late.a.pinger->ping_round();
  CHECK(late.lock->still_held());
  REQUIRE(late.lock->unlock() == UnlockResult::released);
  late.a.pinger->stop();
  late.store->deliver();
  late.check_that_others_get_it();
}

TEST_CASE("a ticket that may arrive once more is left pending also where its hold was lost",
          "[waiting][R8][R18]") {
  Late late;
  const auto other = late.granted_and_lost_to_other();
  CHECK_FALSE(late.lock->still_held());
  CHECK_FALSE(late.lock->lock_try("again"));
  CHECK(late.pending() == 1);
  late.lock.reset();
  late.a.pinger->stop();
  REQUIRE(other->unlock() == UnlockResult::released);
  late.store->deliver();
  late.check_that_others_get_it();
}

TEST_CASE("a ticket that may arrive once more is left pending while its object waits on",
          "[waiting][R8][R18]") {
  Late late;
  const auto other = late.granted_and_lost_to_other();
  CHECK_FALSE(late.lock->still_held());
  std::vector<std::size_t> pending;
  late.store->after("stand", [&] {
    late.a.pinger->ping_round();
    pending.push_back(late.pending());
    late.fleet.clock->advance(5min);
    late.a.pinger->ping_round();
    pending.push_back(late.pending());
  });
  CHECK_FALSE(late.lock->try_lock_for(10min));
  CHECK(pending == std::vector<std::size_t>{1, 0});
}

TEST_CASE("a ticket that may arrive once more is left pending where its hold is claimed anew",
          "[waiting][R8][R9][R18]") {
  Late late;
  late.store->fail("stand", Fault::delayed);
  REQUIRE(late.lock->try_lock_for(1min));
  late.fleet.clock->advance(16min);
  REQUIRE(late.lock->reclaim("anew"));
  CHECK(late.pending() == 1);
}

TEST_CASE("a ticket that was granted and freed by somebody else is given up for a new one",
          "[waiting][R18]") {
  Late late;
  late.store->fail("stand", Fault::lost_reply);
  late.store->after_lost_reply = [&] {
    const LockRecord lock = late.fleet.stored("jobs");
    REQUIRE(late.fleet.store->release("jobs", *lock.ts) == ReleaseResult::freed);
  };
  CHECK(late.lock->try_lock_for(1min));
  CHECK(late.store->calls("stand") < 10);
}

TEST_CASE("a waiter whose place is gone takes a new one at its next look", "[waiting][R17]") {
  Late late;
  const auto holder = late.fleet.process("b").lock("jobs");
  REQUIRE(holder->lock_try("long"));
  int looks = 0;
  int in_line = 0;
  late.store->during_each_call([&](const std::string& call) {
    if (call != "inspect") return;
    const auto line = late.fleet.stored("jobs").line;
    if (++looks == 1) {
      REQUIRE(line.size() == 1);
      late.fleet.store->line()->leave("jobs", line.front().ticket);
    }
    in_line += static_cast<int>(line.size());
  });
  CHECK_FALSE(late.lock->try_lock_for(10min));
  late.store->during_each_call({});
  CHECK(looks > 50);
  CHECK(in_line >= looks - 1);
  CHECK(late.store->calls("stand") < 10);
}

TEST_CASE("a wait that gives up leaves nothing pending where all its calls were answered",
          "[waiting][R12][R18]") {
  Late late;
  const auto holder = late.fleet.process("b").lock("jobs");
  REQUIRE(holder->lock_try("long"));
  const bool delayed = GENERATE(false, true);
  if (delayed) late.store->fail("stand", Fault::delayed);
  CHECK_FALSE(late.lock->try_lock_for(5s));
  CHECK(late.pending() == (delayed ? 1 : 0));
  late.a.pinger->stop();
  CHECK(late.fleet.store->list().pings.size() == (delayed ? 2 : 1));
}

TEST_CASE("a place that a wait could not give up is given up at a ping round",
          "[waiting][R15][R17]") {
  Late late;
  const auto holder = late.fleet.process("b").lock("jobs");
  REQUIRE(holder->lock_try("long"));
  std::stop_source stop;
  SECTION("its wait ended within a call") {
    late.store->before("inspect", [&] { stop.request_stop(); });
    CHECK_FALSE(late.lock->lock(stop.get_token()));
    CHECK(late.store->calls("leave") == 0);
  }
  SECTION("the store refused it") {
    late.store->fail("leave", Fault::rejected);
    late.lock->on_waiting([&](const WaitReport&) { stop.request_stop(); });
    CHECK_FALSE(late.lock->lock(stop.get_token()));
    CHECK(late.store->calls("leave") == 1);
  }
  REQUIRE(late.fleet.stored("jobs").line.size() == 1);
  CHECK(late.pending() == 1);
  late.store->fail("leave", Fault::rejected);
  late.a.pinger->ping_round();
  CHECK(late.pending() == 1);
  late.a.pinger->ping_round();
  CHECK(late.fleet.stored("jobs").line.empty());
  CHECK(late.pending() == 0);
}

TEST_CASE("a place that a delayed request takes after its wait is given up",
          "[waiting][R17][R18]") {
  Late late;
  const auto holder = late.fleet.process("b").lock("jobs");
  REQUIRE(holder->lock_try("long"));
  SECTION("a wait without an answer") {
    late.store->fail("stand", Fault::delayed, 100);
    CHECK(thrown_by([&] { return late.lock->try_lock_for(5s); }) == Errc::outcome_unknown);
  }
  SECTION("a wait that got the lock") {
    late.store->fail("stand", Fault::delayed);
    late.store->before("inspect", [&] { holder->unlock(); });
    REQUIRE(late.lock->try_lock_for(5s));
    REQUIRE(late.lock->unlock() == UnlockResult::released);
    REQUIRE(holder->lock_try("long"));
  }
  REQUIRE(late.fleet.stored("jobs").line.empty());
  late.store->deliver();
  REQUIRE(late.fleet.stored("jobs").line.size() == 1);
  late.a.pinger->ping_round();
  CHECK(late.fleet.stored("jobs").line.empty());
}

TEST_CASE("a hold is freed at once also where a place with its ticket is pending",
          "[waiting][R8][R17]") {
  Late late;
  const auto holder = late.fleet.process("b").lock("jobs");
  REQUIRE(holder->lock_try("long"));
  std::stop_source stop;
  late.store->before("inspect", [&] { stop.request_stop(); });
  CHECK_FALSE(late.lock->lock(stop.get_token()));
  const LockRecord before = late.fleet.stored("jobs");
  REQUIRE(before.line.size() == 1);
  REQUIRE(holder->unlock() == UnlockResult::released);
  const Claim claim = late.fleet.claim_by("a", before.line.front().ticket);
  REQUIRE(late.fleet.store->line()->stand("jobs", claim).hold);
  late.store->fail("leave", Fault::rejected);
  late.a.pinger->ping_round();
  CHECK_FALSE(late.fleet.stored("jobs").taken());
}

TEST_CASE("a ticket is left pending for as long as the last request with it may arrive",
          "[waiting][R7][R8][R18]") {
  Late late;
  late.lock = late.a.lock("jobs", {.store_patience = 1h});
  late.store->fail("stand", Fault::delayed, 10'000);
  CHECK(thrown_by([&] { return late.lock->try_lock_for(5min); }) == Errc::outcome_unknown);
  late.a.pinger->stop();
  CHECK(late.fleet.store->list().pings.size() == 1);
  late.store->deliver();
  REQUIRE(late.fleet.stored("jobs").taken());
  late.check_that_others_get_it();
}
