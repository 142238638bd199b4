#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/line.h"
#include "support/fleet.h"
#include "turns.h"

// Whom a release rings for, at once and as the turns come (R19).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Processes = std::vector<std::string>;

/// A holder, a line of processes that are not of the library, and the rings that they hear.
class Ringing {
 public:
  Ringing() {
    releaser.store->has_line = true;
    REQUIRE(lock->lock_try("first"));
  }

  void line_up(int waiters, const std::string& name = "jobs") {
    for (int i = 0; i < waiters; ++i) enter("p" + std::to_string(i), name);
  }
  void enter(const std::string& process, const std::string& name = "jobs") {
    Token ticket;
    ticket.bytes[0] = static_cast<std::uint8_t>(++tickets_);
    tickets[process] = ticket;
    REQUIRE(fleet.store->line()->stand(name, claim_of(process)).in_line);
    const auto rung = [this, process](std::string_view) {
      const std::lock_guard guard(mutex_);
      rung_.push_back(process);
    };
    listening_.push_back(fleet.store->line()->listen(process, rung));
  }
  bool claims(const std::string& process) {
    return fleet.store->line()->stand("jobs", claim_of(process)).hold.has_value();
  }
  /// Since this was last asked.
  Processes rung() {
    const std::lock_guard guard(mutex_);
    return std::exchange(rung_, {});
  }
  /// When the next round is due, from now.
  std::chrono::nanoseconds round() {
    return releaser.pinger->ring_round() - fleet.clock->steady_now();
  }
  std::chrono::nanoseconds a_turn_later() {
    fleet.clock->advance(line::kTurn);
    return round();
  }
  bool at_rest() { return releaser.pinger->ring_round() == SteadyTime::max(); }

  Fleet fleet;
  Process releaser = fleet.process("releaser");
  std::unique_ptr<DistributedLock> lock = releaser.lock("jobs");
  std::map<std::string, Token> tickets;

 private:
  Claim claim_of(const std::string& process) {
    return fleet.claim_by(process, tickets.at(process));
  }

  std::mutex mutex_;
  Processes rung_;
  std::vector<std::shared_ptr<void>> listening_;
  int tickets_ = 0;
};

}  // namespace

TEST_CASE("those behind waiters that are gone are told when their turn comes",
          "[waiting][R17][R19]") {
  Ringing ringing;
  ringing.line_up(9);
  CHECK(ringing.at_rest());
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  CHECK(ringing.rung() == Processes{"p0"});
  CHECK(ringing.round() == line::kTurn);
  CHECK(ringing.rung().empty());
  CHECK(ringing.a_turn_later() == 50ms);
  CHECK(ringing.rung() == Processes{"p1"});
  ringing.fleet.clock->advance(50ms);
  CHECK(ringing.round() == 50ms);
  CHECK(ringing.rung() == Processes{"p2"});
  ringing.fleet.clock->advance(50ms);
  CHECK(ringing.round() == 25ms);
  CHECK(ringing.rung() == Processes{"p3"});
  // Late, it rings for all whose time has come.
  CHECK(ringing.a_turn_later() == 12ms);
  CHECK(ringing.rung() == Processes{"p4", "p5", "p6", "p7"});
  ringing.fleet.clock->advance(12ms);
  CHECK(ringing.at_rest());
  CHECK(ringing.rung() == Processes{"p8"});
}

TEST_CASE("nobody is rung any more once a lock that was freed is taken", "[waiting][R19][R20]") {
  Ringing ringing;
  ringing.line_up(4);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  REQUIRE(ringing.claims("p0"));
  ringing.rung();
  ringing.releaser.store->forget_calls();
  ringing.a_turn_later();
  CHECK(ringing.rung().empty());
  CHECK(ringing.at_rest());
  CHECK(ringing.releaser.store->calls() == 1);
  CHECK(ringing.releaser.store->calls("inspect") == 1);
}

TEST_CASE("a lock that others have held meanwhile is theirs to ring for", "[waiting][R19]") {
  Ringing ringing;
  ringing.line_up(4);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  REQUIRE(ringing.claims("p0"));
  REQUIRE(ringing.fleet.store->release("jobs", ringing.tickets.at("p0")) == ReleaseResult::freed);
  ringing.rung();
  ringing.a_turn_later();
  CHECK(ringing.rung().empty());
  CHECK(ringing.at_rest());
}

TEST_CASE("with one in line nobody looks after the release", "[waiting][R19][R20]") {
  Ringing ringing;
  ringing.line_up(1);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  CHECK(ringing.rung() == Processes{"p0"});
  CHECK(ringing.at_rest());
}

TEST_CASE("a look after a release that fails is repeated, for five seconds", "[waiting][R19]") {
  Ringing ringing;
  ringing.line_up(4);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  ringing.rung();
  SECTION("until the store answers") {
    ringing.releaser.store->fail("inspect", Fault::rejected);
    CHECK(ringing.a_turn_later() == line::kTurn);
    CHECK(ringing.rung().empty());
    ringing.a_turn_later();
    CHECK(ringing.rung() == Processes{"p1", "p2", "p3"});
  }
  SECTION("and no longer") {
    ringing.releaser.store->fail("inspect", Fault::rejected, 1000);
    for (int i = 0; i < 49; ++i) CHECK(ringing.a_turn_later() == line::kTurn);
    ringing.a_turn_later();
    CHECK(ringing.at_rest());
  }
}

TEST_CASE("a release whose ring fails is done all the same", "[waiting][R3][R19]") {
  Ringing rings;
  rings.line_up(1);
  const bool for_want_of_memory = GENERATE(true, false);
  rings.releaser.store->before("ring", [&] {
    if (for_want_of_memory) throw std::bad_alloc();
    throw Error(Errc::outcome_unknown, "no answer");
  });
  CHECK(rings.lock->unlock() == UnlockResult::released);
  CHECK(rings.releaser.store->calls("release") == 1);
  CHECK(rings.rung().empty());
}

TEST_CASE("a second release begins the turns anew", "[waiting][R17][R19]") {
  Ringing ringing;
  ringing.line_up(4);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  REQUIRE(ringing.claims("p0"));
  REQUIRE(ringing.fleet.store->release("jobs", ringing.tickets.at("p0")) == ReleaseResult::freed);
  ringing.fleet.clock->advance(10s);
  REQUIRE(ringing.lock->lock_try("again"));
  // They were passed over, and are there again.
  for (const char* process : {"p1", "p2", "p3"}) REQUIRE_FALSE(ringing.claims(process));
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  ringing.rung();
  ringing.fleet.clock->advance(line::kTurn - 1ms);
  CHECK(ringing.round() == 1ms);
  CHECK(ringing.rung().empty());
}

TEST_CASE("each lock that was freed has its turns", "[waiting][R19]") {
  Ringing ringing;
  const auto other = ringing.releaser.lock("other");
  REQUIRE(other->lock_try("first"));
  ringing.line_up(2);
  ringing.enter("q0", "other");
  ringing.enter("q1", "other");
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  ringing.fleet.clock->advance(60ms);
  REQUIRE(other->unlock() == UnlockResult::released);
  CHECK(ringing.rung() == Processes{"p0", "q0"});
  ringing.fleet.clock->advance(40ms);
  CHECK(ringing.round() == 60ms);
  CHECK(ringing.rung() == Processes{"p1"});
  ringing.fleet.clock->advance(60ms);
  ringing.round();
  CHECK(ringing.rung() == Processes{"q1"});
}

TEST_CASE("a pinger that ends tells all in line first, for as long as nobody claims",
          "[waiting][R17][R19]") {
  Ringing ringing;
  ringing.line_up(8);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  SECTION("where the first is there") {
    REQUIRE(ringing.claims("p0"));
    ringing.rung();
    ringing.releaser.pinger->stop();
    CHECK(ringing.rung().empty());
    CHECK(ringing.fleet.clock->waited() == 5ms);
  }
  SECTION("where nobody is") {
    ringing.rung();
    ringing.releaser.pinger->stop();
    CHECK(ringing.rung() == Processes{"p1", "p2", "p3", "p4", "p5", "p6", "p7"});
    CHECK(ringing.fleet.clock->waited() == 300ms);
  }
  SECTION("and no longer than a second where the store does not answer") {
    ringing.releaser.store->fail("inspect", Fault::rejected, 1000);
    ringing.releaser.pinger->stop();
    CHECK(ringing.fleet.clock->waited() <= 1s);
  }
}

TEST_CASE("a pinger that ends tells those behind a release that was pending, too",
          "[waiting][R8][R19]") {
  Ringing ringing;
  ringing.line_up(4);
  ringing.releaser.store->fail("release", Fault::rejected, 3);
  REQUIRE(ringing.lock->unlock() == UnlockResult::pending);
  ringing.releaser.pinger->stop();
  CHECK(ringing.rung() == Processes{"p0", "p1", "p2", "p3"});
}

TEST_CASE("a release after the pinger's end rings for the first two", "[waiting][R19]") {
  Ringing ringing;
  ringing.line_up(4);
  ringing.releaser.pinger->stop();
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  CHECK(ringing.rung() == Processes{"p0", "p1"});
}

TEST_CASE("a round of rings after a stop calls no store", "[waiting][R12][R19]") {
  Ringing ringing;
  ringing.line_up(4);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  ringing.releaser.store->fail("inspect", Fault::rejected, 1000);
  ringing.releaser.pinger->stop();
  ringing.releaser.store->forget_calls();
  ringing.fleet.clock->advance(line::kTurn);
  CHECK(ringing.releaser.pinger->ring_round() == SteadyTime::max());
  CHECK(ringing.releaser.store->calls() == 0);
}

TEST_CASE("while a pinger stops no round of rings is due", "[waiting][R12][R19]") {
  Ringing ringing;
  ringing.line_up(4);
  REQUIRE(ringing.lock->unlock() == UnlockResult::released);
  bool looked = false;
  ringing.releaser.store->before("holds", [&] {
    looked = true;
    ringing.fleet.clock->advance(line::kTurn);
    CHECK(ringing.at_rest());
  });
  ringing.releaser.pinger->stop();
  CHECK(looked);
}
