// A program is told how its wait goes (R15, R17).
#include <catch2/catch.hpp>
#include <vector>

#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A lock that "holder" holds, and one that waits for it, with or without a line.
struct WaitingRoom {
  explicit WaitingRoom(bool in_line) {
    REQUIRE(held->lock_try("a long job"));
    waiter.store->has_line = in_line;
    lock->on_waiting([this](const WaitReport& report) {
      reports.push_back(report);
      told_at = fleet.clock->steady_now() - began;
    });
  }

  Fleet fleet;
  std::unique_ptr<DistributedLock> held = fleet.process("holder").lock("jobs");
  Process waiter = fleet.process("waiter");
  std::unique_ptr<DistributedLock> lock = waiter.lock("jobs");
  SteadyTime began = fleet.clock->steady_now();
  std::vector<WaitReport> reports;
  std::chrono::nanoseconds told_at{0};
};

}  // namespace

TEST_CASE("a wait of more than half a second is told once what it waits for", "[waiting][R15]") {
  const bool in_line = GENERATE(true, false);
  WaitingRoom room(in_line);
  CHECK_FALSE(room.lock->try_lock_for(1min));
  REQUIRE(room.reports.size() == 1);
  const WaitReport& told = room.reports.front();
  REQUIRE(told.lock);
  CHECK(told.lock->process == "holder");
  CHECK(told.lock->why == "a long job");
  CHECK(told.place == (in_line ? std::optional<std::size_t>(0) : std::nullopt));
  CHECK(told.failure.empty());
  CHECK(room.told_at >= 500ms);
  CHECK(room.told_at <= (in_line ? 500ms : 1500ms));
}

TEST_CASE("a wait keeps its place in line when it is told", "[waiting][R17]") {
  WaitingRoom room(true);
  room.lock->on_waiting([&](const WaitReport&) {
    const Claim behind = room.fleet.claim_by("behind", Token{{7}});
    REQUIRE(room.fleet.store->line()->stand("jobs", behind).in_line);
  });
  room.waiter.store->during_each_call([&](const std::string&) {
    if (room.fleet.clock->steady_now() < room.began + 10s || !room.held->held()) return;
    CHECK(room.held->unlock() == UnlockResult::released);
  });
  REQUIRE(room.lock->try_lock_for(1min));
  const std::vector<Waiter> line = room.fleet.stored("jobs").line;
  REQUIRE(line.size() == 1);
  CHECK(line.front().ticket == Token{{7}});
  CHECK_FALSE(line.front().passed_over);
}

TEST_CASE("each wait is told anew, and a wait that is short is not told", "[waiting][R15]") {
  WaitingRoom room(GENERATE(true, false));
  CHECK_FALSE(room.lock->try_lock_for(400ms));
  CHECK(room.reports.empty());
  CHECK_FALSE(room.lock->try_lock_for(5s));
  CHECK_FALSE(room.lock->try_lock_for(5s));
  CHECK(room.reports.size() == 2);
  room.lock->on_waiting({});
  CHECK_FALSE(room.lock->try_lock_for(5s));
  CHECK(room.reports.size() == 2);
}

TEST_CASE("a wait is told once that the store fails, and what it waits for when that is over",
          "[waiting][R15]") {
  WaitingRoom room(GENERATE(true, false));
  room.waiter.store->fail("inspect", Fault::rejected, 20);
  CHECK_FALSE(room.lock->try_lock_for(1min));
  REQUIRE(room.reports.size() == 2);
  CHECK_FALSE(room.reports[0].lock);
  CHECK_THAT(room.reports[0].failure, Catch::Contains("inspect rejected by the test"));
  REQUIRE(room.reports[1].lock);
  CHECK(room.reports[1].failure.empty());
}

TEST_CASE("an exception when a wait is told ends the wait and its place", "[waiting][R15][R17]") {
  WaitingRoom room(true);
  room.lock->on_waiting([](const WaitReport&) { throw std::logic_error("enough"); });
  CHECK_THROWS_AS(room.lock->try_lock_for(1min), std::logic_error);
  CHECK(room.fleet.stored("jobs").line.empty());
  room.held->unlock();
  CHECK(room.lock->lock_try("after all"));
}

TEST_CASE("a wait behind another one of its process is told without a place",
          "[waiting][R15][R20]") {
  WaitingRoom room(true);
  const auto behind = room.waiter.lock("jobs");
  std::vector<WaitReport> reports;
  behind->on_waiting([&](const WaitReport& report) { reports.push_back(report); });
  // While it is told, the first wait has the place of this process.
  room.lock->on_waiting([&](const WaitReport& report) {
    CHECK(report.place == 0U);
    room.waiter.store->fail("inspect", Fault::rejected);
    CHECK_FALSE(behind->try_lock_for(10s));
  });
  CHECK_FALSE(room.lock->try_lock_for(1min));
  REQUIRE(reports.size() == 2);
  CHECK_FALSE(reports[0].lock);
  REQUIRE(reports[1].lock);
  CHECK(reports[1].lock->process == "holder");
  CHECK_FALSE(reports[1].place);
}

TEST_CASE("a wait behind another one of its process learns who holds", "[waiting][R15][R20]") {
  WaitingRoom room(true);
  const auto behind = room.waiter.lock("jobs");
  const int failures = GENERATE(0, 1);
  LockRecord other;
  room.lock->on_waiting([&](const WaitReport&) {
    room.waiter.store->fail("inspect", Fault::rejected, failures);
    room.waiter.store->forget_calls();
    CHECK_FALSE(behind->try_lock_for(1min, {}, {}, &other));
    CHECK(room.waiter.store->calls() == failures + 1);
  });
  CHECK_FALSE(room.lock->try_lock_for(2min));
  CHECK(other.process == "holder");
  CHECK(other.why == "a long job");
}

TEST_CASE("a wait behind another one of its process rests after a look that failed",
          "[waiting][R15][R20]") {
  WaitingRoom room(true);
  const LockOptions options{.recheck = 3s};
  const auto behind = room.waiter.lock("jobs", options);
  // The caller asks for the looks, the program that is told, or both.
  const bool asks = GENERATE(true, false);
  if (GENERATE(true, false) || !asks) behind->on_waiting([](const WaitReport&) {});
  SteadyTime looked = SteadyTime::min();
  int looks = 0;
  room.lock->on_waiting([&](const WaitReport&) {
    room.waiter.store->during_each_call([&](const std::string& call) {
      REQUIRE(call == "inspect");
      CHECK(room.fleet.clock->steady_now() >= looked + (++looks > 1 ? 3s : 0s));
      room.fleet.clock->advance(10s);
      looked = room.fleet.clock->steady_now();
      throw Error(Errc::outcome_unknown, "no answer in time");
    });
    LockRecord other;
    CHECK_FALSE(behind->try_lock_for(2min, {}, {}, asks ? &other : nullptr));
    room.waiter.store->during_each_call({});
  });
  CHECK_FALSE(room.lock->try_lock_for(3min));
  CHECK(looks >= 9);
}

TEST_CASE("a store that fails for less than half a second is not told", "[waiting][R15]") {
  const bool in_line = GENERATE(true, false);
  WaitingRoom room(in_line);
  room.waiter.store->fail(in_line ? "stand" : "inspect", Fault::rejected, 2);
  CHECK_FALSE(room.lock->try_lock_for(10s));
  REQUIRE(room.reports.size() == 1);
  CHECK(room.reports.front().lock);
}

TEST_CASE("a wait is told of no look that outlasts it", "[waiting][R15]") {
  WaitingRoom room(GENERATE(true, false));
  room.waiter.store->during_each_call(
      [&](const std::string&) { room.fleet.clock->advance(600ms); });
  CHECK_FALSE(room.lock->try_lock_for(400ms));
  CHECK(room.reports.empty());
}

TEST_CASE("a wait ends at once if the program stops the pinger when it is told",
          "[waiting][R12][R15]") {
  WaitingRoom room(GENERATE(true, false));
  SteadyTime stopped;
  room.lock->on_waiting([&](const WaitReport&) {
    room.waiter.pinger->stop();
    stopped = room.fleet.clock->steady_now();
  });
  CHECK(thrown_by([&] { return room.lock->try_lock_for(1min); }) == Errc::stopped);
  CHECK(room.fleet.clock->steady_now() == stopped);
}

TEST_CASE("a wait whose place is gone is told without a place", "[waiting][R15][R17]") {
  WaitingRoom room(true);
  room.waiter.store->before("inspect", [&] {
    const std::vector<Waiter> line = room.fleet.stored("jobs").line;
    REQUIRE(line.size() == 1);
    room.fleet.store->line()->leave("jobs", line.front().ticket);
  });
  CHECK_FALSE(room.lock->try_lock_for(1min));
  REQUIRE(room.reports.size() == 1);
  CHECK(room.reports.front().lock);
  CHECK_FALSE(room.reports.front().place);
}

TEST_CASE("an error that stays ends a wait behind another one of its process",
          "[waiting][R15][R20]") {
  WaitingRoom room(true);
  const auto behind = room.waiter.lock("jobs");
  bool told = false;
  behind->on_waiting([&](const WaitReport&) { told = true; });
  room.lock->on_waiting([&](const WaitReport&) {
    room.waiter.store->before("inspect",
                              [] { throw Error(Errc::permission_denied, "the test forbids it"); });
    CHECK(thrown_by([&] { return behind->try_lock_for(10s); }) == Errc::permission_denied);
  });
  CHECK_FALSE(room.lock->try_lock_for(1min));
  CHECK_FALSE(told);
}

TEST_CASE("a wait that was told what it waits for is told once that the store fails since",
          "[waiting][R15]") {
  WaitingRoom room(GENERATE(true, false));
  room.lock->on_waiting([&](const WaitReport& report) {
    room.reports.push_back(report);
    if (report.lock) room.waiter.store->fail("inspect", Fault::rejected, 3);
  });
  CHECK_FALSE(room.lock->try_lock_for(1min));
  REQUIRE(room.reports.size() == 2);
  CHECK(room.reports[0].lock);
  CHECK_FALSE(room.reports[1].lock);
  CHECK_THAT(room.reports[1].failure, Catch::Contains("inspect rejected by the test"));
}

TEST_CASE("a stop ends a wait behind another one without an error when it is told of a failure",
          "[waiting][R15][R20]") {
  WaitingRoom room(true);
  const auto behind = room.waiter.lock("jobs");
  std::stop_source stop;
  behind->on_waiting([&](const WaitReport&) {
    stop.request_stop();
    room.fleet.clock->advance(2min);
  });
  room.waiter.store->fail("inspect", Fault::rejected, 1000);
  room.lock->on_waiting([&](const WaitReport& report) {
    CHECK_FALSE(report.failure.empty());
    CHECK_FALSE(behind->try_lock_for(1min, stop.get_token()));
  });
  CHECK_FALSE(room.lock->lock(stop.get_token()));
  CHECK(stop.stop_requested());
}

TEST_CASE("a wait that ends before its next look tells whom the look before saw",
          "[waiting][R15]") {
  // An hour goes by at one moment after the other.
  struct Jumping : ManualClock {
    SteadyTime steady_now() const override {
      if (--left == 0) const_cast<Jumping&>(*this).advance(1h);
      return ManualClock::steady_now();
    }
    mutable int left = 0;
  };
  bool jumped = true;
  int looked = 0;
  for (int at = 1; jumped; ++at) {
    Fleet fleet;
    const auto clock = std::make_shared<Jumping>();
    fleet.clock = clock;
    fleet.store = make_memory_store(clock);
    const auto held = fleet.process("a").lock("balancer", {.takeover_after = 3h});
    REQUIRE(held->lock_try("x"));
    const auto b = fleet.process("b");
    const auto waiter = b.lock("balancer");
    LockRecord other;
    clock->left = at;
    CHECK_FALSE(waiter->try_lock_for(1s, {}, "y", &other));
    jumped = clock->left <= 0;
    CAPTURE(at);
    if (b.store->calls("inspect") == 0) continue;
    ++looked;
    CHECK(other.process == "a");
  }
  CHECK(looked > 1);
}
