// A round of a pinger: its counts, its lines in the log, and when the next is due.
#include <catch2/catch.hpp>
#include <stdexcept>

#include "distlock/members.h"
#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/server_fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a pinger that was stopped has no next round", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  CHECK(a.pinger->ping_round() == fleet.clock->steady_now() + 30s);
  a.pinger->stop();
  CHECK(a.pinger->ping_round() == SteadyTime::max());
}

TEST_CASE("a round that fails is repeated a quarter of an interval after its end",
          "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->fail("ping", Fault::rejected);
  a.store->before("ping", [&] { fleet.clock->advance(2s); });
  const SteadyTime next = a.pinger->ping_round();
  CHECK(next == fleet.clock->steady_now() + 7500ms);
}

TEST_CASE("a first claim waits no longer once the first ping has failed", "[pinger][R7]") {
  const auto store =
      std::make_shared<FaultyStore>(make_memory_store(host_clock(), {.call_limit = 60s}));
  store->fail("ping", Fault::rejected);
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock lock(pinger, "balancer");
  CHECK(lock.try_lock_for(30s));
}

TEST_CASE("a round logs a loss that came before it, also if its ping fails", "[log][pinger][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(kValidByPing);
  a.pinger->watch_round();
  Captured log;
  a.store->fail("ping", Fault::rejected);
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "lost \"balancer\"") == 1);
  CHECK(log.count(severity_level::warning, "ping failed for a") == 1);
}

TEST_CASE("a round logs the loss that it finds", "[log][pinger][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
  Captured log;
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "lost \"balancer\"") == 1);
}

TEST_CASE("the log says for how long a process has not pinged", "[log][pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const bool pinged_before = GENERATE(true, false);
  if (pinged_before) {
    fleet.clock->advance(7s);
    a.pinger->ping_round();
  }
  Captured log;
  fleet.clock->advance(300s);
  a.store->fail("ping", Fault::rejected, 2);
  a.pinger->ping_round();
  CHECK_FALSE(a.pinger->stats().late);
  fleet.clock->advance(1s);
  a.pinger->ping_round();
  CHECK(a.pinger->stats().late);
  CHECK(log.count(severity_level::warning, "no successful ping for 301000 ms for a") == 1);
  fleet.clock->advance(9s);
  a.pinger->ping_round();
  CHECK_FALSE(a.pinger->stats().late);
  CHECK(log.count(severity_level::warning, "pinging again after 310000 ms for a") == 1);
}

TEST_CASE("a process that slept through its pings says so, and no other does",
          "[log][pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.pinger->ping_round();
  Captured log;
  fleet.clock->advance(300s);
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "pinging again") == 0);
  fleet.clock->advance(301s);
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "pinging again after 301000 ms for a") == 1);
}

TEST_CASE("a ping tells the store how the pings have fared, itself among them", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto health = [&] { return fleet.store->list().pings.at(0).record->health.value(); };
  a.store->before("ping", [&] { fleet.clock->advance(5ms); });
  a.pinger->ping_round();
  CHECK(health() == PingHealth{1, 0, 0ms, 0ms});
  fleet.clock->advance(35s - 5ms);
  a.store->fail("ping", Fault::rejected);
  a.pinger->ping_round();
  a.pinger->ping_round();
  CHECK(health() == PingHealth{2, 1, 5ms, 5s});
}

TEST_CASE("a ping that is confirmed after a newer one takes nothing back", "[pinger][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const SteadyTime first = fleet.clock->steady_now();
  a.store->before("ping", [&] {
    fleet.clock->advance(1s);
    a.pinger->ping_round();
  });
  a.pinger->ping_round();
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  CHECK(a.store->calls("ping") == 2);
  CHECK(lock->valid_until() == first + 1s + kValidByPing);
}

TEST_CASE("a round whose ping sees the store's clock step says so, and no other does",
          "[log][pinger][R5]") {
  ServerFleet fleet;
  const auto a = fleet.process("a");
  Captured log;
  a.pinger->ping_round();
  fleet.clock->advance(30s);
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "was seen to step") == 0);
  fleet.step(1h);
  fleet.clock->advance(30s);
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "the store's clock c1 was seen to step") == 1);
}

TEST_CASE("a step of any member's clock that a ping shows is told, by its name",
          "[log][mirrored][pinger][R5]") {
  MirrorFleet fleet;
  fleet.clocks_can_step = true;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const std::size_t stepped = GENERATE(0, 2);
  const bool one_is_away = GENERATE(false, true);
  fleet.clock->advance(30s);
  fleet.clocks[stepped]->step(5min);
  ann.set_away(1, one_is_away);
  const Token member = ann.store->members()->pings("ann")[stepped].member;
  Captured log;
  ann.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "was seen to step") == 1);
  CHECK(log.count(severity_level::warning, to_hex(member)) == 1);
}

TEST_CASE("the first ping is info, and each tenth after it; nothing else is told of a good round",
          "[log][pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  Captured log;
  const auto told = [&] { return log.count(severity_level::info, "pinged successfully for: a"); };
  a.pinger->ping_round();
  CHECK(told() == 1);
  for (int i = 0; i < 9; ++i) a.pinger->ping_round();
  CHECK(told() == 1);
  a.pinger->ping_round();
  CHECK(told() == 2);
  CHECK(log.count(severity_level::warning, "") == 0);
  CHECK(log.count(severity_level::error, "") == 0);
}

TEST_CASE("a callback that was taken away is not called at a loss", "[log][lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  lock->on_lost([](LossReason) { FAIL("it was taken away"); });
  lock->on_lost({});
  lock->on_at_risk([](SteadyTime) { FAIL("it was taken away"); });
  lock->on_at_risk({});
  REQUIRE(lock->lock_try("x"));
  const auto stop = lock->stop_token();
  Captured log;
  fleet.clock->advance(kValidByPing - 1ns);
  a.pinger->watch_round();
  fleet.clock->advance(1ns);
  a.pinger->watch_round();
  CHECK(stop.stop_requested());
  CHECK(log.count(severity_level::error, "a callback of \"balancer\" threw") == 0);
}

TEST_CASE("an exception of a callback is logged, with its lock", "[log][lifetime][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  std::string threw = "a callback of \"balancer\" threw: ";
  SECTION("at a loss") {
    lock->on_lost([](LossReason) { throw std::runtime_error("too late"); });
    threw += "too late";
  }
  SECTION("at a risk") {
    lock->on_at_risk([](SteadyTime) { throw std::runtime_error("too early"); });
    threw += "too early";
  }
  SECTION("that is none") {
    lock->on_lost([](LossReason) { throw 42; });
    threw += "an exception of an unknown type";
  }
  REQUIRE(lock->lock_try("x"));
  Captured log;
  fleet.clock->advance(kValidByPing - 1ns);
  a.pinger->watch_round();
  fleet.clock->advance(1ns);
  a.pinger->watch_round();
  CHECK(log.count(severity_level::error, threw) == 1);
}
