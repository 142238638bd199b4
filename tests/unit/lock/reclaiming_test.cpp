// A hold that ran out, and what becomes of it at its owner's next call (R9).
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a hold that ran out is not unlocked while it is claimed anew", "[lock][R3][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min - 30s);
  a.store->before("claim", [&] {
    LockRecord other;
    CHECK_FALSE(lock->lock_try("at once", &other));
    CHECK(lock->unlock() == UnlockResult::not_ours);
  });
  CHECK((GENERATE(true, false) ? lock->lock_try("y") : lock->reclaim("y")));
  CHECK(lock->held());
}

TEST_CASE("a claim anew that is refused behind a stop is stopped, and reads nothing more",
          "[lock][R9][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min - 30s);
  std::string calls;
  a.store->before("claim", [&] {
    fleet.store->release("balancer", *fleet.stored("balancer").ts);
    boost::thread([&] { a.pinger->stop(); }).join();
    a.store->during_each_call([&](const std::string& call) { calls += call + ' '; });
  });
  CHECK(thrown_by([&] { return lock->reclaim("y"); }) == Errc::stopped);
  a.store->during_each_call({});
  CHECK(calls.find("carried") == calls.npos);
}

TEST_CASE("a wait that cannot claim a hold anew that ran out gives it up at once",
          "[waiting][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min - 30s);
  a.store->fail("claim", Fault::rejected);
  a.store->before("stand", [&] { CHECK(a.pinger->stats().pending_releases == 1); });
  CHECK_FALSE(lock->try_lock_for(5s));
  CHECK(a.store->calls("stand") > 0);
}

TEST_CASE("a claim that came too late says whether it was given back", "[lock][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  const bool given_back = GENERATE(true, false);
  a.store->after("claim", [&, given_back] {
    fleet.clock->advance(16min);
    if (!given_back) a.store->fail("release", Fault::rejected, 3);
  });
  const auto code = thrown_by([&] { return lock->reclaim("y"); });
  CHECK(code == (given_back ? Errc::not_applied : Errc::outcome_unknown));
  CHECK(fleet.stored("balancer").taken() == !given_back);
}

TEST_CASE("a reason that is too long claims nothing anew", "[lock][R9][R14]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min);
  CHECK(thrown_by([&] { return lock->reclaim(std::string(10001, 'y')); }) ==
        Errc::invalid_argument);
}

TEST_CASE("a callback may ask the lock whose next claim has told of the loss", "[lock][R9]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  std::optional<Token> lost;
  lock->on_lost([&](LossReason) { lost = lock->record().ts; });
  CHECK(lock->lock_try("y"));
  CHECK(lost);
  CHECK(lost != lock->record().ts);
}

TEST_CASE("a hold that is claimed anew states the reason that the call gives", "[lock][R9][R14]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer", {.why = "by default"});
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min);
  REQUIRE(lock->reclaim("y"));
  CHECK(fleet.stored("balancer").why == "y");
  CHECK(lock->record().why == "y");
}

TEST_CASE(
    "a stop ends a wait in line, though another thread asks its object for a reclaim meanwhile",
    "[waiting][R9][R15]") {
  Fleet fleet;
  const auto held = fleet.process("holder").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("balancer");
  std::optional<Errc> refused;
  a.store->before("stand", [&] {
    boost::thread([&] { refused = thrown_by([&] { return lock->reclaim("meanwhile"); }); }).join();
  });
  std::stop_source stop;
  // A wait that goes on after the stop gets the lock.
  a.store->during_each_call([&](const std::string& call) {
    if (call != "inspect") return;
    if (stop.stop_requested()) (void)held->unlock();
    stop.request_stop();
  });
  CHECK_FALSE(lock->lock(stop.get_token()));
  a.store->during_each_call({});
  CHECK(refused == Errc::lock_lost);
  CHECK(held->held());
}
