#include "cli/break.h"

#include <catch2/catch.hpp>
#include <functional>
#include <sstream>

#include "cli/exit_status.h"
#include "distlock/error.h"
#include "support/fleet.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// An operator before a store in which somebody holds "jobs".
class Operator {
 public:
  Operator() { REQUIRE(lock->lock_try("testing")); }

  int breaks(const std::string& name, const std::string& answer, bool on_terminal = true,
             bool confirmed = false) {
    BreakArguments arguments;
    arguments.lock = name;
    arguments.confirmed = confirmed;
    return breaks(arguments, answer, on_terminal);
  }
  int breaks(const BreakArguments& arguments, const std::string& answer, bool on_terminal = true) {
    std::istringstream in(answer);
    return break_hold(arguments, {*observer.store, *fleet.clock, connection},
                      {.in = in, .out = out, .err = err, .in_is_terminal = on_terminal});
  }
  /// With --yes and --wait. `at_look`: what happens before each look at the holder.
  int breaks_and_waits(const std::function<void(int look)>& at_look) {
    std::function<void(int)> next = [&](int look) {
      at_look(look);
      observer.store->before("list", [&next, look] { next(look + 1); });
    };
    observer.store->before("list", [&next] { next(1); });
    BreakArguments arguments;
    arguments.lock = "jobs";
    arguments.confirmed = arguments.wait = true;
    const auto start = fleet.clock->steady_now();
    const int status = breaks(arguments, "");
    waited = fleet.clock->steady_now() - start;
    return status;
  }
  bool taken() { return fleet.stored("jobs").taken(); }

  distlock::testing::Fleet fleet;
  distlock::testing::Process holder = fleet.process("holder");
  distlock::testing::Process observer = fleet.process("observer");
  std::unique_ptr<DistributedLock> lock = holder.lock("jobs");
  ConnectionString connection{"memory:"};
  std::ostringstream out;
  std::ostringstream err;
  std::chrono::nanoseconds waited{};
};

}  // namespace

TEST_CASE("break shows the hold, asks, and frees it", "[cli][break]") {
  Operator someone;
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("holder") && Catch::Contains("Break it? [y/N]"));
  CHECK(someone.out.str().empty());
}

TEST_CASE("every answer but yes leaves the hold", "[cli][break]") {
  for (const char* answer : {"", "\n", "n\n", "yep\n"}) {
    Operator someone;
    CHECK(someone.breaks("jobs", answer) == kBusy);
    CHECK(someone.taken());
  }
}

TEST_CASE("without a terminal break needs --yes", "[cli][break]") {
  Operator someone;
  CHECK(someone.breaks("jobs", "y\n", false) == kUsage);
  CHECK(someone.taken());
  CHECK(someone.breaks("jobs", "", false, true) == kSuccess);
  CHECK_FALSE(someone.taken());
}

TEST_CASE("break frees a hold whose holder's ping cannot be judged", "[cli][break][R14]") {
  Operator someone;
  const std::string process = someone.fleet.stored("jobs").process;
  someone.fleet.memory.tables.put_ping({{"_id", process}, {"ping", std::string("yesterday")}});
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("malformed ping"));
}

TEST_CASE("break frees exactly the hold that it showed", "[cli][break][R3]") {
  Operator someone;
  someone.observer.store->before("release", [&] {
    someone.lock->unlock();
    REQUIRE(someone.lock->lock_try("testing again"));
  });
  CHECK(someone.breaks("jobs", "y\n") == kBusy);
  CHECK(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("changed hands"));
}

TEST_CASE("a hold that was released while break asked is free already", "[cli][break][R3]") {
  Operator someone;
  someone.observer.store->before("release", [&] { someone.lock->unlock(); });
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("free already"));
}

TEST_CASE("break of a free lock succeeds, and of an unknown lock is a mistake", "[cli][break]") {
  Operator someone;
  someone.lock->unlock();
  CHECK(someone.breaks("jobs", "") == kSuccess);
  CHECK_THAT(someone.err.str(), Catch::Contains("free already"));
  CHECK(someone.breaks("jbos", "") == kBusy);
}

TEST_CASE("a hold that cannot be looked at is not broken", "[cli][break]") {
  Operator someone;
  someone.observer.store->fail("inspect", distlock::testing::Fault::rejected);
  CHECK(distlock::testing::thrown_by([&] { return someone.breaks("jobs", "y\n"); }) ==
        Errc::not_applied);
  CHECK(someone.taken());
}

TEST_CASE("a release whose outcome is unknown is not called done", "[cli][break][R8]") {
  Operator someone;
  someone.observer.store->fail("release", distlock::testing::Fault::lost_reply);
  CHECK(distlock::testing::thrown_by([&] { return someone.breaks("jobs", "y\n"); }) ==
        Errc::outcome_unknown);
}

TEST_CASE("a quiet break says nothing of what goes well", "[cli][break]") {
  Operator someone;
  BreakArguments arguments;
  arguments.lock = "jobs";
  arguments.common.verbosity = Verbosity::quiet;
  arguments.confirmed = arguments.wait = true;
  CHECK(someone.breaks(arguments, "") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK(someone.breaks(arguments, "") == kSuccess);
  CHECK(someone.err.str().empty());
  arguments.lock = "jbos";
  CHECK(someone.breaks(arguments, "") == kBusy);
  CHECK_FALSE(someone.err.str().empty());
}

TEST_CASE("break --wait says once for whom it waits and how long that one may act",
          "[cli][break][R9]") {
  Operator someone;
  CHECK(someone.breaks_and_waits([](int) {}) == kSuccess);
  const std::string said = someone.err.str();
  CHECK_THAT(said, Catch::Contains("waiting for holder, which acts for 16m at most\n"));
  CHECK(said.find("waiting for") == said.rfind("waiting for"));
}

TEST_CASE("break says for how long the old command may work on", "[cli][break][R9]") {
  Operator someone;
  someone.fleet.clock->advance(30s);
  CHECK(someone.breaks("jobs", "n\n") == kBusy);
  CHECK_THAT(someone.err.str(), Catch::Contains("works on") && Catch::Contains("15m 30s at most"));
}

TEST_CASE("a hold that could be taken over is broken without a warning", "[cli][break][R9]") {
  Operator someone;
  someone.fleet.clock->advance(16min);
  CHECK(someone.breaks_and_waits([](int) {}) == kSuccess);
  CHECK_THAT(someone.err.str(),
             Catch::Contains("its deadline has passed") && !Catch::Contains("waiting for"));
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
  CHECK(waited == std::chrono::nanoseconds{members_by_turns ? 16min : 116s});
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
