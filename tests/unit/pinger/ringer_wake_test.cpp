// When a release wakes the thread that rings, and what it costs where nobody waits (R19).
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <stop_token>
#include <string>

#include "pinger/session.h"
#include "support/fleet.h"
#include "support/tampering.h"
#include "turns.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Holds of one process, with lines behind them.
struct Releasing {
  Releasing() { store->has_line = true; }

  Token held(const std::string& name, int in_line) {
    const Token ts{{++tokens}};
    REQUIRE(fleet.store->claim(name, FromAbsent{}, fleet.claim_by("a", ts)));
    for (int i = 0; i < in_line; ++i) {
      const Claim claim = fleet.claim_by("p" + std::to_string(i), Token{{++tokens}});
      REQUIRE(fleet.store->line()->stand(name, claim).in_line);
    }
    return ts;
  }
  ReleaseResult release(const std::string& name, const Token& ts) {
    return session.ringer.release(name, ts, ReleaseRule::durable).result;
  }

  Fleet fleet;
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(fleet.store);
  Session session{{.store = store, .clock = fleet.clock, .process = "a"}, {}, PingerDrive::caller};
  std::uint8_t tokens = 0;
};

}  // namespace

TEST_CASE("a release wakes the ringer if its turns come before the next round", "[waiting][R19]") {
  Releasing it;
  const Token one = it.held("one", 2);
  const Token two = it.held("two", 2);
  const Token three = it.held("three", 2);
  auto due = it.session.ringer.round();
  CHECK(due.next == SteadyTime::max());
  REQUIRE(it.release("one", one) == ReleaseResult::freed);
  CHECK(due.changed.stop_requested());
  due = it.session.ringer.round();
  CHECK(due.next == it.fleet.clock->steady_now() + line::kTurn);
  REQUIRE(it.release("two", two) == ReleaseResult::freed);
  CHECK_FALSE(due.changed.stop_requested());
  it.fleet.clock->advance(1ms);
  REQUIRE(it.release("three", three) == ReleaseResult::freed);
  CHECK_FALSE(due.changed.stop_requested());
}

TEST_CASE("a release without waiters rings nobody, and nobody looks after it",
          "[waiting][R19][cost]") {
  Releasing it;
  const Token alone = it.held("jobs", 0);
  const auto due = it.session.ringer.round();
  CHECK(it.release("jobs", alone) == ReleaseResult::freed);
  CHECK(it.store->calls("ring") == 0);
  CHECK_FALSE(due.changed.stop_requested());
  CHECK(it.session.ringer.round().next == SteadyTime::max());
}

TEST_CASE("a release that nobody waits for ends the turns of the one before it",
          "[waiting][R19][cost]") {
  Releasing it;
  const Token first = it.held("jobs", 2);
  REQUIRE(it.release("jobs", first) == ReleaseResult::freed);
  for (const Token& ticket : {Token{{2}}, Token{{3}}})
    it.fleet.store->line()->leave("jobs", ticket);
  const Token again{{9}};
  REQUIRE(it.fleet.store->claim("jobs", FromFree{first}, it.fleet.claim_by("a", again)));
  REQUIRE(it.release("jobs", again) == ReleaseResult::freed);
  CHECK(it.session.ringer.round().next == SteadyTime::max());
}

TEST_CASE("a release says whether it was this hold that it freed", "[unlock][R3][R19]") {
  Releasing it;
  const Token ts = it.held("jobs", 0);
  CHECK(it.release("jobs", Token{{99}}) == ReleaseResult::not_ours);
  CHECK(it.release("jobs", ts) == ReleaseResult::freed);
  CHECK(it.release("jobs", ts) == ReleaseResult::already_free);
}

TEST_CASE("the turns of a lock whose document is gone are over", "[waiting][R19]") {
  Releasing it;
  const Token ts = it.held("jobs", 3);
  REQUIRE(it.release("jobs", ts) == ReleaseResult::freed);
  it.fleet.memory.tables.clear();
  it.fleet.clock->advance(line::kTurn);
  CHECK(it.session.ringer.round().next == SteadyTime::max());
}

TEST_CASE("a release of what is another's ends no turns of the one before it", "[waiting][R19]") {
  Releasing it;
  REQUIRE(it.release("jobs", it.held("jobs", 3)) == ReleaseResult::freed);
  REQUIRE(it.release("jobs", Token{{99}}) == ReleaseResult::not_ours);
  it.store->forget_calls();
  it.fleet.clock->advance(line::kTurn);
  it.session.ringer.round();
  CHECK(it.store->calls("ring") == 1);
}

TEST_CASE("a lock that was freed without a time has no turns", "[waiting][R17][R19]") {
  Releasing it;
  const Token jobs = it.held("jobs", 0);
  it.fleet.memory.tables.put_lock(
      {{"_id", std::string("jobs")}, {"state", std::int32_t{0}}, {"ts", jobs}});
  REQUIRE(it.release("jobs", jobs) == ReleaseResult::already_free);
  CHECK(it.session.ringer.round().next == SteadyTime::max());
  CHECK(it.store->calls("ring") == 0);
}

TEST_CASE("a lock whose release was undone has no turns", "[waiting][R3][R19]") {
  Releasing it;
  const Token jobs = it.held("jobs", 3);
  REQUIRE(it.release("jobs", jobs) == ReleaseResult::freed);
  Document freed = *it.fleet.memory.tables.raw_lock("jobs");
  for (auto& [name, value] : freed) {
    if (name == "state") value = std::int32_t{1};
  }
  it.fleet.memory.tables.put_lock(freed);
  it.store->forget_calls();
  it.fleet.clock->advance(line::kTurn);
  it.session.ringer.round();
  CHECK(it.store->calls("ring") == 0);
}

TEST_CASE("a round that is stopped begins no other call, and leaves the rest to the end",
          "[waiting][stop][R12][R19]") {
  Releasing it;
  for (const std::string name : {"one", "two", "three"}) {
    REQUIRE(it.release(name, it.held(name, 3)) == ReleaseResult::freed);
  }
  it.fleet.clock->advance(line::kTurn);
  it.store->forget_calls();
  std::stop_source stop;
  it.store->before("inspect", [&] { stop.request_stop(); });
  SECTION("where the store does not answer") { it.store->fail("inspect", Fault::rejected); }
  SECTION("where the store answers") {}
  it.session.ringer.round({SteadyTime::max(), stop.get_token()});
  CHECK(it.store->calls() == 1);
  it.fleet.clock->advance(line::kTurn);
  it.session.ringer.round();
  CHECK(it.store->calls("ring") == 3);
}

TEST_CASE("the end of a ringer begins no call after a second, however many locks were freed",
          "[waiting][stop][R12][R19]") {
  Releasing it;
  for (const std::string name : {"one", "two", "three", "four", "five"}) {
    REQUIRE(it.release(name, it.held(name, 3)) == ReleaseResult::freed);
  }
  it.store->forget_calls();
  it.store->fail("inspect", Fault::rejected, 100);
  it.store->during_each_call([&](const std::string& /*call*/) { it.fleet.clock->advance(600ms); });
  it.session.ringer.finish();
  CHECK(it.store->calls("inspect") == 2);
}

TEST_CASE("in a line of which one was passed over the next one is told sooner",
          "[waiting][R17][R19]") {
  Releasing it;
  const Token ts = it.held("one", 3);
  std::vector<Waiter> line = it.fleet.stored("one").line;
  line[0].passed_over = line[0].since;
  tamper(it.fleet.memory.tables, "one", "line", line);
  REQUIRE(it.release("one", ts) == ReleaseResult::freed);
  CHECK(it.session.ringer.round().next == it.fleet.clock->steady_now() + line::kTurn / 2);
}

TEST_CASE("the turns of a release that comes during a look at the one before it are told",
          "[waiting][R19]") {
  Releasing it;
  const Token first = it.held("jobs", 3);
  REQUIRE(it.release("jobs", first) == ReleaseResult::freed);
  it.fleet.clock->advance(3 * line::kTurn);
  const Token again{{99}};
  it.store->after("inspect", [&] {
    REQUIRE(it.fleet.store->claim("jobs", FromFree{first}, it.fleet.claim_by("a", again)));
    // They were passed over, and are there again.
    for (std::uint8_t i = 0; i < 3; ++i) {
      const std::uint8_t ticket = i + 2;
      const Claim there = it.fleet.claim_by("p" + std::to_string(i), Token{{ticket}});
      REQUIRE(it.fleet.store->line()->stand("jobs", there).in_line);
    }
    REQUIRE(it.release("jobs", again) == ReleaseResult::freed);
  });
  it.session.ringer.round();
  REQUIRE(it.fleet.stored("jobs").ts == again);
  it.store->forget_calls();
  it.fleet.clock->advance(line::kTurn);
  it.session.ringer.round();
  CHECK(it.store->calls("ring") == 1);
}

TEST_CASE("a release that comes during a look at an unfinished one is followed in its place",
          "[waiting][R19]") {
  Releasing it;
  const Token first = it.held("jobs", 8);
  const Token ticket_of_p0{{2}};
  REQUIRE(it.release("jobs", first) == ReleaseResult::freed);
  it.fleet.clock->advance(line::kTurn);
  it.store->after("inspect", [&] {
    REQUIRE(it.fleet.store->line()->stand("jobs", it.fleet.claim_by("p0", ticket_of_p0)).hold);
    REQUIRE(it.release("jobs", ticket_of_p0) == ReleaseResult::freed);
  });
  it.session.ringer.round();
  it.store->forget_calls();
  it.fleet.clock->advance(line::kTurn);
  it.session.ringer.round();
  CHECK(it.store->calls("ring") == 1);
}

TEST_CASE("waiters behind many that are gone are woken by the release",
          "[waiting][R17][R19][threads]") {
  const auto store = open_memory_store(host_clock(), {}).store;
  const LockOptions patient{.recheck = 1h};
  const auto process = [&](const std::string& name) {
    return std::make_shared<DistributedLockPinger>(
        Environment{.store = store, .process = name, .random = {}});
  };
  Fleet fleet;
  DistributedLock holder(process("holder"), "jobs", patient);
  REQUIRE(holder.lock_try("first"));
  const auto in_line = [&] { return store->inspect("jobs", Freshness::fresh).lock->line.size(); };
  const StoreNow now = store->list().now;
  for (std::uint8_t i = 1; i <= 5; ++i) {
    Claim gone = fleet.claim_by("gone" + std::to_string(i), Token{{i}});
    gone.cutoff = {now.time + 1h, now.clock};
    REQUIRE(store->line()->stand("jobs", gone).in_line);
  }
  std::stop_source stop;
  std::vector<std::future<bool>> got;
  std::latch have_looked(3);
  for (const std::string name : {"b", "c", "d"}) {
    const std::size_t before = in_line();
    got.push_back(std::async(std::launch::async, [&, name] {
      DistributedLock lock(process(name), "jobs", patient);
      lock.on_waiting([&, told = false](const WaitReport&) mutable {
        if (!std::exchange(told, true)) have_looked.count_down();
      });
      return lock.lock(stop.get_token());
    }));
    while (in_line() == before) std::this_thread::yield();
  }
  // They look again in half an hour at the earliest.
  have_looked.wait();
  REQUIRE(holder.unlock() == UnlockResult::released);
  for (const auto& one : got) CHECK(one.wait_for(30s) == std::future_status::ready);
  stop.request_stop();
}
