// Pending releases and places in line, as a round works them off.
#include <catch2/catch.hpp>

#include "pinger/session.h"
#include "support/captured_log.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

const Token kTicket{{7}};

/// A process whose waits and holds are over, and a line that another holds up.
struct Leaving {
  Leaving() {
    store->has_line = true;
    REQUIRE(fleet.store->claim("jobs", FromAbsent{}, fleet.claim_by("b", Token{{1}})));
    REQUIRE(fleet.store->line()->stand("jobs", fleet.claim_by("a", kTicket)).in_line);
  }
  /// So many waits more have left their places behind.
  void leave_behind(std::uint8_t waits) {
    for (std::uint8_t i = 0; i < waits; ++i) {
      const Token ticket{{static_cast<std::uint8_t>(100 + i)}};
      REQUIRE(fleet.store->line()->stand("jobs", fleet.claim_by("a", ticket)).in_line);
      session.leave_place_behind("jobs", ticket);
    }
  }
  std::size_t places() { return fleet.stored("jobs").line.size(); }
  SteadyTime after(std::chrono::nanoseconds time) const { return fleet.clock->steady_now() + time; }

  Fleet fleet;
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(fleet.store);
  Session session{{.store = store, .clock = fleet.clock, .process = "a"}, {}, PingerDrive::caller};
  PendingReleases& pending = session.pending;
};

}  // namespace

TEST_CASE("a place that is given up later is no release", "[waiting][R8][R17]") {
  Leaving it;
  it.pending.add_place("jobs", kTicket);
  CHECK(it.pending.contains(kTicket));
  CHECK_FALSE(it.pending.contains(Token{{8}}));
  CHECK_FALSE(it.pending.frees(kTicket));
  Captured log;
  it.session.round();
  CHECK(it.store->calls("release") == 0);
  CHECK(it.places() == 0);
  CHECK(it.pending.count() == 0);
  CHECK(log.count(severity_level::info, "is settled") == 0);
}

TEST_CASE("a place and a hold of one ticket are given up together", "[waiting][R8][R17]") {
  Leaving it;
  const bool place_first = GENERATE(true, false);
  if (place_first) it.pending.add_place("jobs", kTicket);
  it.pending.add("jobs", kTicket);
  if (!place_first) it.pending.add_place("jobs", kTicket);
  CHECK(it.pending.count() == 1);
  CHECK(it.pending.frees(kTicket));
  CHECK_FALSE(it.pending.frees(Token{{8}}));
  Captured log;
  it.session.round();
  CHECK(it.store->calls("release") == 1);
  CHECK(it.store->calls("leave") == 1);
  CHECK(it.places() == 0);
  CHECK(it.pending.count() == 0);
  CHECK(log.count(severity_level::info, "is settled") == 1);
}

TEST_CASE("a place that cannot be given up is tried again in the next round", "[waiting][R17]") {
  Leaving it;
  it.pending.add_place("jobs", kTicket);
  it.store->fail("leave", Fault::rejected);
  Captured log;
  it.session.round();
  CHECK(it.pending.count() == 1);
  CHECK(log.count(severity_level::debug, "the place in line for \"jobs\" is not given up") == 1);
  CHECK(log.count(severity_level::warning, "") == 0);
  it.session.round();
  CHECK(it.pending.count() == 0);
  CHECK(it.places() == 0);
}

TEST_CASE("a hold and a place are given up also where a round has time for one call",
          "[waiting][R8][R12][R17]") {
  Leaving it;
  const bool may_arrive_later = GENERATE(false, true);
  it.pending.add("jobs", kTicket, may_arrive_later ? it.after(5min) : SteadyTime::min());
  it.pending.add_place("jobs", kTicket);
  it.store->during_each_call([&](const std::string&) { it.fleet.clock->advance(25s); });
  for (int i = 0; i < 30; ++i) it.fleet.clock->wait_until(it.session.round(), {});
  CHECK(it.pending.count() == 0);
  CHECK(it.places() == 0);
  it.store->during_each_call({});
}

TEST_CASE("a release that got more to do in the middle of it stays", "[waiting][R8][R17]") {
  Leaving it;
  SECTION("a place") {
    it.pending.add("jobs", kTicket);
    it.store->before("release", [&] { it.pending.add_place("jobs", kTicket); });
    it.session.round();
    CHECK(it.places() == 1);
  }
  SECTION("a hold") {
    it.pending.add_place("jobs", kTicket);
    it.store->before("leave", [&] { it.pending.add("jobs", kTicket); });
    it.session.round();
    CHECK(it.store->calls("release") == 0);
  }
  SECTION("a request that may still arrive") {
    it.pending.add("jobs", kTicket);
    it.store->before("release", [&] { it.pending.add("jobs", kTicket, it.after(10s)); });
    it.session.round();
    it.fleet.clock->advance(10s);
  }
  CHECK(it.pending.count() == 1);
  it.session.round();
  CHECK(it.pending.count() == 0);
}

TEST_CASE("of two requests of one ticket the last that may arrive counts", "[waiting][R8]") {
  Leaving it;
  const bool last_first = GENERATE(true, false);
  it.pending.add("jobs", kTicket, it.after(last_first ? 30s : 10s));
  it.pending.add("jobs", kTicket, it.after(last_first ? 10s : 30s));
  CHECK(it.pending.count() == 1);
  it.fleet.clock->advance(30s - 1ns);
  it.session.round();
  CHECK(it.pending.count() == 1);
  it.fleet.clock->advance(1ns);
  it.session.round();
  CHECK(it.pending.count() == 0);
}

TEST_CASE("releases of two locks and of two tickets are several", "[lock][R8]") {
  Leaving it;
  it.pending.add("jobs", kTicket);
  it.pending.add("other", kTicket);
  it.pending.add("jobs", Token{{8}});
  CHECK(it.pending.count() == 3);
  it.store->after("release", [&] { it.store->fail("release", Fault::rejected); });
  it.session.round();
  CHECK(it.store->calls("release") == 3);
  CHECK(it.pending.count() == 1);
  it.session.round();
  CHECK(it.store->calls("release") == 4);
  CHECK(it.pending.count() == 0);
}

TEST_CASE("a place is kept where the release before it took all the time", "[waiting][R8][R12]") {
  Leaving it;
  it.pending.add("jobs", kTicket);
  it.pending.add_place("jobs", kTicket);
  it.store->before("release", [&] { it.fleet.clock->advance(25s); });
  it.session.round();
  CHECK(it.store->calls("leave") == 0);
  CHECK(it.pending.count() == 1);
  CHECK_FALSE(it.pending.frees(kTicket));
  it.session.round();
  CHECK(it.store->calls("release") == 1);
  CHECK(it.pending.count() == 0);
  CHECK(it.places() == 0);
}

TEST_CASE("a hold that was added again while its release took all the time is kept",
          "[waiting][R8][R12]") {
  Leaving it;
  it.pending.add("jobs", kTicket);
  it.pending.add_place("jobs", kTicket);
  it.store->before("release", [&] {
    it.pending.add("jobs", kTicket, it.after(10s));
    it.fleet.clock->advance(25s);
  });
  it.session.round();
  CHECK(it.store->calls("leave") == 0);
  CHECK(it.pending.frees(kTicket));
  it.session.round();
  CHECK(it.store->calls("release") == 2);
  CHECK(it.pending.count() == 0);
}

TEST_CASE("a place that waits for a request which may still arrive keeps its hold",
          "[waiting][log][R8][R12]") {
  Leaving it;
  it.pending.add("jobs", kTicket, it.after(1h));
  it.pending.add_place("jobs", kTicket);
  it.store->before("release", [&] { it.fleet.clock->advance(25s); });
  Captured log;
  it.session.round();
  CHECK(it.pending.frees(kTicket));
  it.store->fail("release", Fault::rejected, 2);
  it.session.round();
  it.session.round();
  CHECK(log.count(severity_level::warning, "late unlock of \"jobs\" failed") == 1);
}

TEST_CASE("a pending release is durable", "[lock][R3][R8]") {
  Leaving it;
  it.pending.add("jobs", Token{{1}});
  it.session.round();
  CHECK(it.store->quick_releases == 0);
  CHECK_FALSE(it.fleet.stored("jobs").taken());
}

TEST_CASE("each pending release that fails is logged once, also after a try that settled nothing",
          "[log][lock][R8]") {
  Leaving it;
  it.pending.add("one", Token{{8}}, it.after(1h));
  it.pending.add("two", Token{{9}}, it.after(1h));
  it.session.round();
  Captured log;
  const auto logged = [&](const std::string& name) {
    return log.count(severity_level::warning, "late unlock of \"" + name + "\" failed");
  };
  for (const int failures : {1, 0, 1, 2}) {
    CHECK(logged("two") == 0);
    it.store->fail("release", Fault::rejected, failures);
    it.session.round();
    CHECK(logged("one") == 1);
  }
  CHECK(logged("two") == 1);
  CHECK(it.pending.count() == 2);
}

TEST_CASE("a place that a wait leaves behind wakes the thread that gives it up",
          "[waiting][R15][R17]") {
  Leaving it;
  const auto due = it.session.ring_round();
  CHECK(due.next == SteadyTime::max());
  it.leave_behind(1);
  CHECK(due.changed.stop_requested());
}

TEST_CASE("of the places that waits have left behind one a round of rings is given up",
          "[waiting][R17][R19]") {
  Leaving it;
  it.leave_behind(2);
  CHECK(it.session.ring_round().next == it.fleet.clock->steady_now());
  CHECK(it.places() == 2);
  CHECK(it.session.ring_round().next == SteadyTime::max());
  CHECK(it.places() == 1);
  CHECK(it.pending.count() == 0);
  CHECK(it.store->calls() == 2);
}

TEST_CASE("a store that fails is asked for no other place before the next ping",
          "[waiting][R12][R17]") {
  Leaving it;
  it.leave_behind(3);
  it.store->fail("leave", Fault::rejected);
  CHECK(it.session.ring_round().next == SteadyTime::max());
  it.session.ring_round();
  CHECK(it.store->calls("leave") == 1);
  CHECK(it.pending.count() == 3);
  it.session.round();
  CHECK(it.pending.count() == 0);
}

TEST_CASE("a place whose ticket may get a hold waits for that hold's release",
          "[waiting][R8][R17]") {
  Leaving it;
  it.pending.add("jobs", kTicket, it.after(1h));
  it.session.leave_place_behind("jobs", kTicket);
  it.session.ring_round();
  CHECK(it.store->calls() == 0);
  CHECK(it.pending.frees(kTicket));
}

TEST_CASE("no place is given up by a round of rings after a stop", "[waiting][stop][R12][R17]") {
  Leaving it;
  it.leave_behind(1);
  it.session.stopping.request_stop();
  CHECK(it.session.ring_round().next == SteadyTime::max());
  CHECK(it.store->calls() == 0);
}
