#include "log.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/captured_log.h"
#include "support/server_fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("every tenth successful ping is info, the others debug", "[log][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  Captured log;
  for (int i = 0; i < 20; ++i) a.pinger->ping_round();
  CHECK(log.count(severity_level::info, "pinged successfully for: a") == 2);
  CHECK(log.count(severity_level::debug, "pinged successfully for: a") == 18);
}

TEST_CASE("a busy and a dead lock are logged with the original's events", "[log][R6]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("doing balance round"));
  const auto contender = fleet.process("b").lock("balancer");
  Captured log;
  fleet.clock->advance(15min + 30s);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(log.count(severity_level::debug, "lock failed because taken by") == 1);
  CHECK(log.count(severity_level::debug, "elapsed: 15 minutes") == 1);
  fleet.clock->advance(30s);
  CHECK(contender->lock_try("y"));
  CHECK(log.count(severity_level::info, "forcefully taking over from") == 1);
  CHECK(log.count(severity_level::debug, "dist_lock acquired") == 1);
}

TEST_CASE("a short lease is logged in seconds, not in 0 minutes", "[log][R6]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("balancer", {.takeover_after = 3min});
  REQUIRE(dead->lock_try("doing balance round"));
  const auto contender = fleet.process("b").lock("balancer", {.takeover_after = 3min});
  Captured log;
  fleet.clock->advance(1500ms);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(log.count(severity_level::debug, "elapsed: 1500 ms") == 1);
  fleet.clock->advance(30s);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(log.count(severity_level::debug, "elapsed: 31 s") == 1);
}

TEST_CASE("a holder without a ping is logged with the original's error", "[log][R7]") {
  Fleet fleet;
  const auto gone = fleet.process("gone").lock("balancer");
  REQUIRE(gone->lock_try("x"));
  fleet.store->remove_ping("gone");
  Captured log;
  CHECK_FALSE(fleet.process("b").lock("balancer")->lock_try("y"));
  CHECK(log.count(severity_level::error, "lock is taken by old process?") == 1);
}

TEST_CASE("a contender says why clocks that disagree keep it from taking over", "[log][R5]") {
  ServerFleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  fleet.clock->advance(16min);
  fleet.clock->set_wall_off(1h);
  Captured log;
  CHECK_FALSE(fleet.process("b").lock("balancer")->lock_try("y"));
  CHECK(log.count(severity_level::warning, "clock skew of 3600000ms") == 1);
}

TEST_CASE("a silence beyond all sense is logged with the original's warning", "[log][R6]") {
  Fleet fleet;
  const auto gone = fleet.process("gone").lock("balancer");
  REQUIRE(gone->lock_try("x"));
  fleet.clock->advance(std::chrono::years{101});
  Captured log;
  CHECK(fleet.process("b").lock("balancer")->lock_try("y"));
  CHECK(log.count(severity_level::warning, "elapsed time seems impossible") == 1);
}

TEST_CASE("an unlock that fails is logged with the original's warnings", "[log][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 3);
  Captured log;
  CHECK(lock->unlock() == UnlockResult::pending);
  for (const char* attempt : {"attempt 1", "attempt 2", "attempt 3"}) {
    CHECK(log.count(severity_level::warning, attempt) == 1);
  }
  CHECK(log.count(severity_level::warning, "failed to reach the store") == 3);
  CHECK(log.count(severity_level::warning, "couldn't consummate unlock request") == 1);
  CHECK(log.count(severity_level::warning, "will be taken over after 16 minutes") == 1);
}

TEST_CASE("a pending release that fails again and again is logged once", "[log][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 7);
  REQUIRE(lock->unlock() == UnlockResult::pending);
  Captured log;
  for (int i = 0; i < 4; ++i) a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "late unlock of \"balancer\" failed") == 1);
  CHECK(log.count(severity_level::info, "is settled") == 0);
  a.pinger->ping_round();
  CHECK(log.count(severity_level::info, "late unlock of \"balancer\" is settled") == 1);
}

TEST_CASE("a pinger that is late says so once, and again when it recovers", "[log][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.pinger->ping_round();
  Captured log;
  a.store->fail("ping", Fault::rejected, 3);
  for (int i = 0; i < 3; ++i) {
    fleet.clock->advance(200s);
    a.pinger->ping_round();
  }
  CHECK(log.count(severity_level::warning, "no successful ping") == 1);
  a.pinger->ping_round();
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "pinging again") == 1);
}

TEST_CASE("a loss is one warning, also where unlock() follows", "[log][R3][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(fleet.store->release("balancer", *lock->record().ts) == ReleaseResult::freed);
  const bool noticed = GENERATE(true, false);
  Captured log;
  if (noticed) a.pinger->ping_round();
  CHECK(lock->unlock() == UnlockResult::not_ours);
  CHECK(log.count(severity_level::warning, noticed ? "lost" : "is not ours any more") == 1);
  CHECK(log.count(severity_level::warning, "") == 1);
}

TEST_CASE("a wait says the same thing once, and the next says it anew", "[log][R15]") {
  Fleet fleet;
  const auto gone = fleet.process("gone").lock("balancer");
  REQUIRE(gone->lock_try("x"));
  fleet.store->remove_ping("gone");
  const auto waiter = fleet.process("b").lock("balancer");
  Captured log;
  CHECK_FALSE(waiter->try_lock_for(1min));
  CHECK(log.count(severity_level::error, "lock is taken by old process?") == 1);
  CHECK_FALSE(waiter->try_lock_for(1min));
  CHECK(log.count(severity_level::error, "lock is taken by old process?") == 2);
  for (int i = 0; i < 2; ++i) CHECK_FALSE(waiter->lock_try("no wait"));
  CHECK(log.count(severity_level::error, "lock is taken by old process?") == 4);
}

TEST_CASE("a claim of unknown outcome is logged, and so is a read-back that fails", "[log][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("claim", Fault::lost_reply);
  a.store->fail("inspect", Fault::rejected);
  Captured log;
  CHECK(lock->lock_try("y"));
  CHECK(log.count(severity_level::warning, "reading it back: claim lost") == 1);
  CHECK(log.count(severity_level::warning, "reading it back: inspect rejected") == 1);
}

TEST_CASE("a claim that was refused or came too late is logged", "[log][R2][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  Captured log;
  SECTION("refused") {
    a.store->before("claim", [&] {
      const Claim rival = fleet.claim_by("rival", Token{{9}});
      REQUIRE(fleet.store->claim("balancer", FromAbsent{}, rival));
    });
    CHECK_FALSE(lock->lock_try("x"));
    CHECK(log.count(severity_level::info, "error trying to acquire lock \"balancer\"") == 1);
  }
  SECTION("refused for a takeover") {
    const auto dead = fleet.process("dead").lock("balancer");
    REQUIRE(dead->lock_try("x"));
    fleet.clock->advance(16min);
    a.store->before("claim", [&] { CHECK(dead->unlock() == UnlockResult::released); });
    CHECK(lock->lock_try("y"));
    CHECK(log.count(severity_level::warning, "could not take over from") == 1);
  }
  SECTION("late") {
    a.store->after("claim", [&] { fleet.clock->advance(16min); });
    CHECK(lock->lock_try("y"));
    CHECK(log.count(severity_level::warning, "took longer than its deadline allows") == 1);
  }
}

TEST_CASE("a level lets through records of its severity and above", "[log]") {
  Captured log;
  const LockRecord lock{.name = "balancer"};
  const auto logged = [&](LogLevel level) {
    set_log_level(level);
    const int before = log.count_all();
    log::acquired(lock);
    log::creating_ping_thread("a");
    log::clock_skew(lock, 3ms);
    log::taken_by_old_process(lock);
    return log.count_all() - before;
  };
  CHECK(logged(LogLevel::debug) == 4);
  CHECK(logged(LogLevel::info) == 3);
  CHECK(logged(LogLevel::warning) == 2);
  CHECK(logged(LogLevel::error) == 1);
  CHECK(logged(LogLevel::off) == 0);
}

TEST_CASE("records below the level are not logged", "[log]") {
  Captured log;
  const LockRecord lock{.name = "balancer"};
  set_log_level(LogLevel::warning);
  log::acquired(lock);
  log::clock_skew(lock, 3ms);
  set_log_level(LogLevel::off);
  log::taken_by_old_process(lock);
  CHECK(log.count(severity_level::debug, "") == 0);
  CHECK(log.count(severity_level::warning, "skew of 3ms") == 1);
  CHECK(log.count(severity_level::error, "") == 0);
}

TEST_CASE("texts of other programs are escaped", "[log]") {
  Captured log;
  log::acquired({.name = "balancer", .why = "\x1b[2Jgone\n"});
  CHECK(log.count(severity_level::debug, "\x1b") == 0);
  CHECK(log.count(severity_level::debug, "\\x1b[2Jgone") == 1);
}

TEST_CASE("a message about a store names it, without its secrets", "[log]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  Captured log;
  const auto of_the_store = [&](const std::string& part) {
    const auto lines = log.lines();
    const auto last = std::find_if(lines.rbegin(), lines.rend(), [&](const LoggedLine& line) {
      return line.text.find(part) != std::string::npos;
    });
    return last != lines.rend() && last->text.ends_with(" [memory:]");
  };
  REQUIRE(lock->lock_try("x"));
  CHECK(of_the_store("dist_lock acquired"));
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(of_the_store("dist_lock unlock"));
  a.pinger->ping_round();
  CHECK(of_the_store("pinged successfully"));
  a.store->has_line = true;
  REQUIRE(lock->try_lock_for(1s));
  CHECK(of_the_store("dist_lock acquired"));
  fleet.clock->advance(16min);
  REQUIRE(lock->reclaim());
  CHECK(of_the_store("dist_lock acquired"));
  CHECK(lock->unlock() == UnlockResult::released);
  a.store->fail("inspect", Fault::rejected);
  REQUIRE(a.lock("other", {.wait_rule = WaitRule::polling})->try_lock_for(5s));
  CHECK(of_the_store("goes on after"));
  a.store->fail("remove_ping", Fault::rejected);
  a.pinger->stop();
  CHECK(of_the_store("saying farewell failed"));
}

TEST_CASE("a message about a hold shows its ts", "[log][R2]") {
  Captured log;
  log::acquired({.name = "balancer", .ts = Token{{0xab}}});
  CHECK(log.count(severity_level::debug, ", ts: ab0000000000000000000000 }") == 1);
}

TEST_CASE("the error about a holder without a ping says how to free its lock", "[log][R7]") {
  Captured log;
  log::taken_by_old_process({.name = "the \"balancer\""});
  CHECK(log.count(severity_level::error, "with distlock break \"the") == 1);
}

TEST_CASE("a message about a hold shows its process, its thread and its reason", "[log]") {
  Captured log;
  log::acquired({.name = "balancer", .process = "p", .who = "p:1:2", .why = "y"});
  CHECK(log.count(severity_level::debug, "who: \"p:1:2\", process: \"p\", why: \"y\"") == 1);
}

TEST_CASE("a document that keeps a member out is named with its own store", "[log][M6]") {
  Captured log;
  log::member_waits_for_fence("kept out", "jobs", "spoilt");
  CHECK(log.count(severity_level::warning, "\"kept out\" cannot take part") == 1);
  CHECK(log.count(severity_level::warning, "lock \"jobs\" on \"spoilt\" is malformed") == 1);
}
