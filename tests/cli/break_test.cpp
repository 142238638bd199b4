#include "cli/break.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "cli/exit_status.h"
#include "cli/operator.h"
#include "distlock/error.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// Breaks "jobs" there, with --yes.
int breaks_at(Store& store, Clock& clock, std::ostream& err) {
  const ConnectionString connection("memory:");
  BreakArguments arguments;
  arguments.lock = "jobs";
  arguments.confirmed = true;
  std::istringstream in;
  std::ostringstream out;
  return break_hold(arguments, {store, clock, connection},
                    {.in = in, .out = out, .err = err, .in_is_terminal = false});
}

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

TEST_CASE("a question that is not answered ends its line", "[cli][break]") {
  Operator someone;
  CHECK(someone.breaks("jobs", "") == kBusy);
  CHECK_THAT(someone.err.str(), Catch::Contains("[y/N] \ndistlock: left jobs as it is\n"));
}

TEST_CASE("break -q shows the hold only if it asks", "[cli][break]") {
  Operator someone;
  BreakArguments arguments;
  arguments.lock = "jobs";
  arguments.common.verbosity = Verbosity::quiet;
  const auto messages = [&](int expected, bool on_terminal) {
    CHECK(someone.breaks(arguments, "n\n", on_terminal) == expected);
    return std::exchange(someone.err, std::ostringstream()).str();
  };
  CHECK_THAT(messages(kBusy, true), Catch::Contains("holder"));
  CHECK_THAT(messages(kUsage, false), Catch::StartsWith("distlock: standard input"));
  arguments.confirmed = true;
  CHECK(messages(kSuccess, true).empty());
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

TEST_CASE("break leaves a later hold that has the id of the one that it showed",
          "[cli][break][R2][R3]") {
  Operator someone;
  const auto hold_since = [&](StoreTime when) {
    someone.fleet.memory.tables.put_lock({{"_id", std::string("jobs")},
                                          {"state", std::int32_t{2}},
                                          {"process", std::string("ConfigServer")},
                                          {"who", std::string("ConfigServer:conn1")},
                                          {"why", std::string("migrating")},
                                          {"when", when},
                                          {"ts", Token{}}});
  };
  const StoreTime now = someone.fleet.store->list().now.time;
  hold_since(now - 1min);
  // After the first look.
  someone.observer.store->before(
      "inspect", [&] { someone.observer.store->before("inspect", [&] { hold_since(now); }); });
  CHECK(someone.breaks("jobs", "y\n") == kBusy);
  CHECK(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("changed hands"));
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
}

TEST_CASE("a hold that was released while break asked is free already", "[cli][break][R3]") {
  Operator someone;
  someone.observer.store->before("release", [&] { someone.lock->unlock(); });
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("free already"));
}

TEST_CASE("a hold that was released while the question stood is free already", "[cli][break][R3]") {
  Operator someone;
  // The look before the question shows it.
  someone.observer.store->after("inspect", [&] { someone.lock->unlock(); });
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
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
  CHECK(someone.fleet.clock->waited() == 16min);  // For its holder.
  CHECK(someone.breaks(arguments, "") == kSuccess);
  CHECK(someone.err.str().empty());
  arguments.lock = "jbos";
  CHECK(someone.breaks(arguments, "") == kBusy);
  CHECK_FALSE(someone.err.str().empty());
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

TEST_CASE("break on a mirrored store says what became of a hold that a minority carried",
          "[cli][break][mirrored][M8]") {
  distlock::testing::MirrorFleet fleet;
  const auto observer = fleet.process("observer");
  static_cast<void>(observer.store->list());
  const bool free_on_first = GENERATE(false, true);
  for (std::size_t i = free_on_first ? 1 : 0; i < 3; ++i)
    fleet.put_taken(i, Token{{static_cast<std::uint8_t>(i)}});
  std::ostringstream err;
  const auto breaks = [&] { return breaks_at(*observer.store, *fleet.clock, err); };
  if (!free_on_first) {
    CHECK(breaks() == kBusy);
    CHECK_THAT(err.str(), Catch::Contains("held by another now; what was shown"));
  }
  CHECK(breaks() == kSuccess);
  CHECK_THAT(err.str(), Catch::Contains("freed jobs\n") && !Catch::Contains("nothing was"));
}

TEST_CASE("a yes is y, Y or yes", "[cli][break]") {
  for (const char* answer : {"y\n", "Y\n", "yes\n", "yes"}) {
    CAPTURE(answer);
    Operator someone;
    CHECK(someone.breaks("jobs", answer) == kSuccess);
    CHECK_FALSE(someone.taken());
  }
}

TEST_CASE("a hold that some members carry on is not called freed", "[cli][break][mirrored][M8]") {
  /// As a mirrored store with members that could not be asked to free it.
  class Stubborn : public distlock::testing::FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    Inspection inspect(std::string_view name, Freshness freshness) override {
      Inspection seen = FaultyStore::inspect(name, freshness);
      if (seen.lock) seen.lock->members = {Token{{1}}};
      return seen;
    }
    ReleaseResult release(std::string_view /*name*/, const Token& /*ts*/) override {
      return ReleaseResult::not_ours;
    }
  };
  Operator someone;
  Stubborn store(someone.fleet.store);
  CHECK(breaks_at(store, *someone.fleet.clock, someone.err) == kBusy);
  CHECK_THAT(someone.err.str(),
             Catch::EndsWith("jobs is still held so by some members, look again\n"));
}

TEST_CASE("a break names the members that are away, and others not", "[cli][break][mirrored][M8]") {
  distlock::testing::MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const auto held = ann.lock("jobs");
  REQUIRE(held->lock_try("x"));
  const auto bob = fleet.process("bob");
  bob.set_away(1, true);
  std::string said = "freed jobs\n";
  SECTION("of a hold that it frees") {}
  SECTION("of a hold that was released meanwhile") {
    said = "jobs is free already\n";
    bob.members[0]->before("release", [&] { held->unlock(); });
  }
  std::ostringstream err;
  CHECK(breaks_at(*bob.store, *fleet.clock, err) == kSuccess);
  CHECK_THAT(err.str(), Catch::Contains(said) &&
                            Catch::Contains("member 2 is away, and may carry the hold still") &&
                            !Catch::Contains("member 1 is away") &&
                            !Catch::Contains("member 3 is away"));
}
