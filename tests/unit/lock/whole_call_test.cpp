// The errors of an attempt that made several requests.
#include <catch2/catch.hpp>

#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

// The last of its requests was certainly not applied. Of the first nobody knows.
TEST_CASE("an attempt that fails speaks of all its requests", "[lock][waiting][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(true, false);
  const auto lock = a.lock("balancer");
  const auto rule = GENERATE(WaitRule::in_line, WaitRule::polling);
  const auto waiter = a.lock("balancer", {.wait_rule = rule});
  for (const char* call : {"claim", "stand"}) a.store->fail(call, Fault::lost_reply);
  a.store->after_lost_reply = [&] {
    for (const char* call : {"inspect", "claim", "stand"}) a.store->fail(call, Fault::rejected, 99);
  };
  const bool wait = GENERATE(true, false);
  const auto attempt = [&] { return wait ? waiter->try_lock_for(5s) : lock->lock_try("x"); };
  CHECK(thrown_by(attempt) == Errc::outcome_unknown);
  CHECK(fleet.stored("balancer").taken());
  CHECK(a.pinger->stats().pending_releases == 1);
}

TEST_CASE("a call that failed casts no doubt on the next", "[lock][waiting][R8]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.store->fail("claim", Fault::lost_reply);
  a.store->after_lost_reply = [&] { a.store->fail("inspect", Fault::rejected, 2); };
  REQUIRE(thrown_by([&] { return lock->lock_try("x"); }) == Errc::outcome_unknown);
  a.store->fail("inspect", Fault::rejected, 1000);
  const auto time = GENERATE(0s, 5s);
  CHECK(thrown_by([&] { return lock->try_lock_for(time); }) == Errc::not_applied);
}

// Its late grant is freed by the pinger, and holds the lock until then.
TEST_CASE("a wait whose late grant cannot be claimed anew does not say that nothing was applied",
          "[lock][waiting][R8][R9][R18]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const bool by_takeover = GENERATE(false, true);
  const auto dead = fleet.process("dead").lock("balancer");
  if (by_takeover) {
    REQUIRE(dead->lock_try("x"));
    fleet.clock->advance(1h);
  }
  const auto waiter = a.lock("balancer");
  a.store->after(by_takeover ? "claim" : "stand", [&] {
    fleet.clock->advance(20min);
    a.store->fail("claim", Fault::rejected);
    for (const char* call : {"inspect", "stand"}) a.store->fail(call, Fault::rejected, 1000);
  });
  CHECK(thrown_by([&] { waiter->lock(); }) == Errc::outcome_unknown);
  CHECK(fleet.stored("balancer").process == "a");
  CHECK(fleet.stored("balancer").taken());
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}
