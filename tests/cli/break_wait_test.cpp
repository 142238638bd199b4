#include "cli/break_wait.h"

#include <catch2/catch.hpp>
#include <functional>
#include <sstream>
#include <string>

#include "cli/exit_status.h"
#include "cli/operator.h"
#include "cli/scene.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// As if the holder of "jobs" had stated that window.
void state_window(Operator& someone, std::int64_t milliseconds) {
  Document lock = *someone.fleet.memory.tables.raw_lock("jobs");
  std::erase_if(lock, [](const auto& field) { return field.first == "takeover_after"; });
  lock.emplace_back("takeover_after", milliseconds);
  someone.fleet.memory.tables.put_lock(lock);
}

}  // namespace

TEST_CASE("break --wait says once for whom it waits and how long that one may act",
          "[cli][break][R9]") {
  Operator someone;
  CHECK(someone.breaks_and_waits([](int) {}) == kSuccess);
  const std::string said = someone.err.str();
  CHECK_THAT(said, Catch::Contains("waiting for holder, which acts for 16m at most\n"));
  CHECK(said.find("waiting for") == said.rfind("waiting for"));
}

TEST_CASE("break tells of a window that is out of range, and of no time below zero",
          "[cli][break][R9]") {
  Operator someone;
  state_window(someone, INT64_MAX);
  CHECK(someone.breaks("jobs", "n\n") == kBusy);
  CHECK_THAT(someone.err.str(), Catch::Contains("works on") && !Catch::Contains("for -"));
}

TEST_CASE("a broken hold acts for what is left of its own window, whatever a contender would wait",
          "[cli][break][R6][R9]") {
  distlock::cli::testing::Scene scene;
  scene.hold("jobs", "p", 20'000);
  scene.ping("p", 5s);
  const View view = scene.all(1min);
  REQUIRE(view.locks.front().takeover.in == 55s);
  CHECK(acts_at_most(view.locks.front()) == 15s);
}

TEST_CASE("break --wait returns when the holder has ended", "[cli][break][R9]") {
  Operator someone;
  CHECK(someone.breaks_and_waits([&](int look) {
    if (look == 3) someone.holder.pinger->ping_round();
    if (look == 5) someone.lock->unlock();
    if (look == 5) someone.holder.pinger->stop();
  }) == kSuccess);
  CHECK_FALSE(someone.lock->held());
  CHECK(someone.waited == 4s);
  CHECK_THAT(someone.err.str(), Catch::Contains("its holder has ended"));
}

TEST_CASE("break --wait returns when a holder has ended that pinged after the break alone",
          "[cli][break][R9]") {
  Operator someone;
  someone.fleet.memory.tables.remove_ping("holder");
  CHECK(someone.breaks_and_waits([&](int look) {
    if (look == 2) someone.fleet.store->ping("holder");
    if (look == 4) someone.fleet.memory.tables.remove_ping("holder");
  }) == kSuccess);
  CHECK_THAT(someone.err.str(), Catch::Contains("its holder has ended"));
}

TEST_CASE("break --wait returns when the holder has noticed and its grace is over",
          "[cli][break][R9]") {
  Operator someone;
  // The first may be from before the break; after the eighth, seven rounds have been done.
  CHECK(someone.breaks_and_waits([&](int look) {
    if (look % 10 == 1 && look <= 71) someone.holder.pinger->ping_round();
  }) == kSuccess);
  CHECK_FALSE(someone.lock->held());
  CHECK(someone.waited == 76s);
  CHECK_THAT(someone.err.str(), Catch::Contains("its holder has noticed"));
}

TEST_CASE("break --wait waits for the grace that a holder of a short window has",
          "[cli][break][R9]") {
  Operator someone;
  state_window(someone, 16'000);
  CHECK(someone.breaks_and_waits([&](int) { someone.fleet.store->ping("holder"); }) == kSuccess);
  // Pings until the eighth look, an eighth of the window, and a sixteenth.
  CHECK(someone.waited == 7s + 2s + 1s);
  CHECK_THAT(someone.err.str(), Catch::Contains("its holder has noticed"));
}

TEST_CASE("break --wait looks more often at a holder of a short window", "[cli][break][R9]") {
  Operator someone;
  state_window(someone, 1600);
  SECTION("that pings on") {
    CHECK(someone.breaks_and_waits([&](int) { someone.fleet.store->ping("holder"); }) == kSuccess);
    // Looks are a sixteenth of the window apart.
    CHECK(someone.waited == 700ms + 200ms + 100ms);
  }
  SECTION("that is silent") {
    CHECK(someone.breaks_and_waits([](int) {}) == kSuccess);
    CHECK(someone.waited == 1600ms);
  }
}

TEST_CASE("break --wait waits for more pings of a holder on a mirrored store",
          "[cli][break][mirrored][R9]") {
  distlock::testing::MirrorFleet fleet;
  const auto holder = fleet.process("holder");
  const auto observer = fleet.process("observer");
  const auto lock = holder.lock("jobs");
  REQUIRE(lock->lock_try("testing"));
  // By turns the first two members do not answer the observer: one ping has two times.
  holder.members[1]->before("ping", [&] { fleet.clock->advance(1s); });
  holder.pinger->ping_round();
  const bool members_by_turns = GENERATE(false, true);
  int look = 0;
  observer.members[2]->during_each_call([&](const std::string& call) {
    if (call != "list") return;
    ++look;
    if (look % 10 == 1 && look <= 111 && !members_by_turns) holder.pinger->ping_round();
    if (members_by_turns) observer.set_away(0, look % 2 == 0);
    if (members_by_turns) observer.set_away(1, look % 2 == 1);
  });
  BreakArguments arguments;
  arguments.lock = "jobs";
  arguments.confirmed = arguments.wait = true;
  std::ostringstream out;
  std::ostringstream err;
  std::istringstream in;
  const auto start = fleet.clock->steady_now();
  CHECK(break_hold(arguments, {*observer.store, *fleet.clock, ConnectionString("memory:")},
                   {.in = in, .out = out, .err = err, .in_is_terminal = false}) == kSuccess);
  const auto waited = fleet.clock->steady_now() - start;
  CHECK(waited == std::chrono::nanoseconds{members_by_turns ? 16min : 115s});
  CHECK_THAT(err.str(), Catch::Contains(members_by_turns ? "silent for its window" : "noticed"));
}

TEST_CASE("break --wait returns when a silent holder's window is over", "[cli][break][R9]") {
  Operator someone;
  CHECK(someone.breaks_and_waits([](int) {}) == kSuccess);
  CHECK(someone.waited == 16min);
  CHECK_THAT(someone.err.str(), Catch::Contains("silent for its window"));
}

TEST_CASE("break --wait watches for a whole window a holder whose ping says nothing",
          "[cli][break][R7][R14]") {
  Operator someone;
  const std::string process = someone.fleet.stored("jobs").process;
  if (GENERATE(false, true)) {
    someone.fleet.memory.tables.put_ping({{"_id", process}, {"ping", std::string("yesterday")}});
  } else {
    someone.fleet.store->remove_ping(process);
  }
  CHECK(someone.breaks_and_waits([](int) {}) == kSuccess);
  CHECK(someone.waited == 16min);
}

TEST_CASE("a broken hold's holder is silent after a window also where the clocks disagree",
          "[cli][break][R5][R9]") {
  Operator someone;
  Clock& clock = *someone.fleet.clock;
  Store& store = *someone.fleet.store;
  const View shown = view_one({store, clock, someone.connection, ContenderWindow{}}, "jobs");
  BrokenHold broken(shown.locks.front(), 1);
  const auto look = [&] {
    auto [listing, span] = timed(clock, [&] { return store.list(); });
    listing.now.steady = false;
    return broken.look({{Token{}, listing}}, span);
  };
  someone.fleet.clock->set_wall_off(10min);
  CHECK_FALSE(look());
  someone.fleet.clock->advance(16min - 1ms);
  CHECK_FALSE(look());
  someone.fleet.clock->advance(1ms);
  CHECK(look() == BrokenHold::End::silent);
}

TEST_CASE("break --wait goes on when the store does not answer", "[cli][break]") {
  Operator someone;
  CHECK(someone.breaks_and_waits([&](int look) {
    if (look <= 2) someone.observer.store->fail("list", distlock::testing::Fault::rejected);
    if (look == 4) someone.lock->unlock();
    if (look == 4) someone.holder.pinger->stop();
  }) == kSuccess);
  const std::string said = someone.err.str();
  CHECK_THAT(said, Catch::Contains("looking again") && Catch::Contains("has ended"));
  CHECK(said.find("looking again") == said.rfind("looking again"));
}

TEST_CASE("break --wait ends where waiting mends nothing", "[cli][break]") {
  Operator someone;
  int looks = 0;
  someone.observer.store->during_each_call([&](const std::string& call) {
    if (call == "list" && ++looks > 3) throw Error(Errc::store_replaced, "another file");
  });
  CHECK(distlock::testing::thrown_by([&] { return someone.breaks_and_waits([](int) {}); }) ==
        Errc::store_replaced);
  CHECK(looks == 4);
}

TEST_CASE("break --wait does not wait for a holder that states no window", "[cli][break]") {
  Operator someone;
  someone.fleet.memory.tables.put_lock({{"_id", std::string("jobs")},
                                        {"state", std::int32_t{2}},
                                        {"process", std::string("mongos")},
                                        {"who", std::string("mongos:conn1:1")},
                                        {"why", std::string("balancing")},
                                        {"when", someone.fleet.store->list().now.time},
                                        {"ts", Token{}}});
  CHECK(someone.breaks_and_waits([](int) {}) == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK(someone.waited == 0s);
  CHECK_THAT(someone.err.str(), Catch::Contains("for an unknown time"));
}

TEST_CASE("break --wait takes no end of a run for the end of what its command has left behind",
          "[cli][break][R9][R23]") {
  distlock::cli::testing::Scene scene;
  scene.hold("jobs", "p", 20'000);
  scene.ping("p", 1s);
  LockView shown = scene.all().locks.front();
  MemberListing listing{Token{}, scene.store().list()};
  PingRecord& ping = *listing.listing.pings.front().record;
  ping.ended = ping.was_run = true;
  LocalSpan span{};
  span.sent = span.received = SteadyTime{1000s};
  bool left = true;
  std::chrono::milliseconds since{};
  const auto is_had = [&](const std::string& token, std::chrono::milliseconds given) {
    since = given;
    return left && token == to_hex(*shown.record->ts);
  };
  SECTION("of this machine's clock") {
    BrokenHold broken(shown, 1, is_had);
    CHECK_FALSE(broken.look({listing}, span));
    CHECK(since == 939s);
    left = false;
    CHECK(broken.look({listing}, span) == BrokenHold::End::silent);
  }
  SECTION("of a program, which runs no command") {
    ping.was_run = false;
    CHECK(BrokenHold(shown, 1, is_had).look({listing}, span) == BrokenHold::End::silent);
  }
  SECTION("that members of a mirrored store dated") {
    shown.record->members = {Token{{1}}};
    CHECK_FALSE(BrokenHold(shown, 1, is_had).look({listing}, span));
    CHECK(since == 0s);
  }
}
