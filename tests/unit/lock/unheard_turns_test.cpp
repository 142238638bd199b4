// A waiter that no ring reaches, as where the bell of its store cannot be used (R19).
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "support/fleet.h"
#include "support/tampering.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A fleet's time, in which another process gets the lock again and again, and rings for nobody.
class Rivalry : public ManualClock {
 public:
  explicit Rivalry(Fleet& fleet) : fleet_(fleet), inner_(fleet.clock) {
    fleet_.store->ping("rival", {});
    act();
  }
  SteadyTime steady_now() const override { return inner_->steady_now(); }
  WallTime wall_now() const override { return inner_->wall_now(); }
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    while (next_ <= until && !stop.stop_requested()) {
      inner_->wait_until(next_, stop);
      act();
    }
    return inner_->wait_until(until, stop);
  }

 private:
  void act() {
    distlock::Line& line = *fleet_.store->line();
    if (holds_) {
      line.release_and_tell("jobs", ticket_, ReleaseRule::quick);
      ticket_.bytes.front()++;
    }
    holds_ = line.stand("jobs", fleet_.claim_by("rival", ticket_)).hold.has_value();
    next_ = inner_->steady_now() + (holds_ ? 30ms : 100ms);
  }

  Fleet& fleet_;
  const std::shared_ptr<ManualClock> inner_;
  Token ticket_{{1}};
  bool holds_ = false;
  SteadyTime next_;
};

/// "waiter", which waits for a minute for what "holder" holds, and when it looks.
struct Unheard {
  Unheard() {
    store.has_line = true;
    REQUIRE(held->lock_try("a long job"));
    const SteadyTime begun = fleet.clock->steady_now();
    store.during_each_call([this, begun](const std::string& call) {
      if (call != "inspect") return;
      looks.push_back(fleet.clock->steady_now() - begun);
      if (at_each_look) at_each_look();
    });
  }
  ~Unheard() { store.during_each_call({}); }

  void wait() { CHECK_FALSE(waiter.lock("jobs")->try_lock_for(1min)); }
  void another_stands(std::uint8_t number) {
    REQUIRE(fleet.store->line()->stand("jobs", fleet.claim_by("gone", Token{{number}})).in_line);
  }
  void pass_waiter_over() {
    std::vector<Waiter> line = fleet.stored("jobs").line;
    line.back().passed_over = line.back().since;
    tamper(fleet.memory.tables, "jobs", "line", line);
  }
  void pass_waiter_over_at_its_first_look() {
    at_each_look = [this] {
      if (looks.size() == 1) pass_waiter_over();
    };
  }
  std::chrono::nanoseconds pause_after(std::size_t look) const {
    return looks.at(look) - looks.at(look - 1);
  }

  Fleet fleet;
  std::unique_ptr<DistributedLock> held = fleet.process("holder").lock("jobs");
  Process waiter = fleet.process("waiter");
  FaultyStore& store = *waiter.store;
  std::vector<std::chrono::nanoseconds> looks;
  std::function<void()> at_each_look;
};

}  // namespace

TEST_CASE("a waiter that no ring reaches gets a lock that another takes again at once",
          "[waiting][R17][R19]") {
  Fleet fleet;
  fleet.clock = std::make_shared<Rivalry>(fleet);
  const auto waiter = fleet.process("waiter");
  waiter.store->has_line = true;
  CHECK(waiter.lock("jobs")->try_lock_for(1min));
}

TEST_CASE("a waiter that was passed over without a ring looks twice a turn",
          "[waiting][R17][R19]") {
  Unheard one;
  one.pass_waiter_over_at_its_first_look();
  one.wait();
  CHECK(one.pause_after(1) <= 50ms);
  CHECK(one.pause_after(2) == 50ms);
  CHECK(one.pause_after(20) == 50ms);
}

TEST_CASE("a waiter whose place was removed for its mark looks twice a turn", "[waiting][R17]") {
  Unheard one;
  one.at_each_look = [&] {
    const Token ticket = one.fleet.stored("jobs").line.back().ticket;
    if (one.looks.size() == 1) one.fleet.store->line()->leave("jobs", ticket);
  };
  one.wait();
  CHECK(one.pause_after(1) == 50ms);
  CHECK(one.pause_after(20) == 50ms);
}

TEST_CASE("a waiter that no ring reaches looks the more rarely the more stand in front",
          "[waiting][R17][R20]") {
  Unheard one;
  one.another_stands(7);
  one.another_stands(8);
  one.pass_waiter_over_at_its_first_look();
  one.wait();
  CHECK(one.pause_after(3) == 150ms);
}

TEST_CASE("a waiter that no ring reaches looks the more rarely the older the hold is",
          "[waiting][R19][R20]") {
  Unheard one;
  one.pass_waiter_over_at_its_first_look();
  one.wait();
  CHECK(one.looks.size() > 200);
  CHECK(one.looks.size() < 300);
}

TEST_CASE("a waiter that was passed over and is rung then looks as rarely as before",
          "[waiting][R19][R20]") {
  Unheard one;
  one.at_each_look = [&] {
    if (one.looks.size() == 1) one.pass_waiter_over();
    if (one.looks.size() == 2) one.fleet.store->line()->ring("jobs", {"waiter"});
  };
  one.wait();
  CHECK(one.pause_after(1) <= 50ms);
  CHECK(one.pause_after(3) >= 1500ms);
}

TEST_CASE("a waiter that is not passed over looks rarely, however often the lock changes hands",
          "[waiting][R19][R20]") {
  Unheard one;
  one.at_each_look = [&] {
    const auto number = static_cast<std::uint8_t>(one.looks.size());
    tamper(one.fleet.memory.tables, "jobs", "ts", Token{{9, number}});
  };
  one.wait();
  CHECK(one.looks.size() <= 42);
}
