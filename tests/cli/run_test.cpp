#include "cli/run.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <sstream>

#include "cli/exit_status.h"
#include "distlock/error.h"
#include "runner.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

TEST_CASE("the command runs under the lock, which is free after it", "[cli][run]") {
  Runner runner;
  std::vector<std::pair<std::string, std::string>> environment;
  runner.fleet.clock->advance(600us);  // Rounded down, since the command may act no longer.
  // 16 minutes less an allowance of 70.96 s after the ping, which goes before the claim.
  const auto ms = (runner.fleet.clock->steady_now().time_since_epoch() + 889'040ms) / 1ms;
  const std::string valid_until =
      std::to_string(ms / 1000) + '.' + std::to_string(1000 + ms % 1000).substr(1);
  const int status = runner.runs(arguments_for("jobs"), [&](const Command& command) {
    CHECK(runner.fleet.stored("jobs").taken());
    environment = command.environment;
    return exits(3);
  });
  CHECK(status == 3);
  const LockRecord left = runner.fleet.stored("jobs");
  CHECK_FALSE(left.taken());
  CHECK(environment == decltype(environment){{"DISTLOCK_NAME", "jobs"},
                                             {"DISTLOCK_FENCE", std::to_string(left.fence)},
                                             {"DISTLOCK_TOKEN", to_hex(*left.ts)},
                                             {"DISTLOCK_VALID_UNTIL", valid_until}});
  CHECK(runner.err.str().empty());
}

TEST_CASE("a command in a run in a run gets the tokens of the outer ones, the nearest first",
          "[cli][run][R23]") {
  Runner runner;
  const auto given_with = [&](const std::string& nearest, const std::string& others) {
    setenv("DISTLOCK_TOKEN", nearest.c_str(), 1);
    setenv("DISTLOCK_OUTER_TOKENS", others.c_str(), 1);
    std::string given;
    (void)runner.runs(arguments_for("jobs"), [&](const Command& command) {
      CHECK(command.environment.back().first == "DISTLOCK_OUTER_TOKENS");
      given = command.environment.back().second;
      return exits(0);
    });
    unsetenv("DISTLOCK_TOKEN");
    unsetenv("DISTLOCK_OUTER_TOKENS");
    return given;
  };
  CHECK(given_with("ab", "") == "ab");
  CHECK(given_with("ab", "cd,ef") == "ab,cd,ef");
  const std::string given = given_with("ab", "cd," + std::string(100'000, 'e'));
  CHECK_THAT(given, Catch::StartsWith("ab,cd,"));
  CHECK(given.size() < 10'000);
}

TEST_CASE("with -v a run says that it holds the lock, and its fence", "[cli][run][R10]") {
  Runner runner;
  RunArguments arguments = arguments_for("jobs");
  arguments.common.verbosity = Verbosity::verbose;
  CHECK(runner.runs(arguments, [](const Command&) { return exits(0); }) == 0);
  CHECK(runner.err.str() == "distlock: holding jobs, fence 1\n");
}

TEST_CASE("a run releases durably, since its process ends right after it", "[cli][run][R3]") {
  Runner runner;
  runner.runner.store->has_line = true;
  CHECK(runner.runs(arguments_for("jobs"), [](const Command&) { return exits(0); }) == 0);
  CHECK(runner.runner.store->quick_releases == 0);
}

TEST_CASE("a busy lock gives 1, or what the user wants instead", "[cli][run]") {
  Runner runner;
  const auto held = runner.rival.lock("jobs");
  REQUIRE(held->lock_try("a long\033[2J job"));
  const auto never = [](const Command&) -> Ending { throw std::logic_error("it ran"); };

  RunArguments arguments = arguments_for("jobs");
  arguments.wait = 0ms;
  CHECK(runner.runs(arguments, never) == kBusy);
  CHECK_THAT(runner.err.str(), Catch::Contains("jobs is held by rival (a long\\x1b[2J job)"));
  arguments.wait = 1s;
  arguments.conflict_exit_status = 9;
  CHECK(runner.runs(arguments, never) == 9);
}

TEST_CASE("no run says of a free lock that it is held", "[cli][run]") {
  Runner runner;
  runner.runner.store->has_line = true;
  const auto held = runner.rival.lock("jobs");
  REQUIRE(held->lock_try("a long job"));
  runner.stands_behind(1);  // Its turn is next.
  REQUIRE(held->unlock() == UnlockResult::released);
  RunArguments arguments = arguments_for("jobs");
  arguments.wait = GENERATE(0ms, 1ms);
  CHECK(runner.runs(arguments, [](const Command&) { return exits(0); }) == kBusy);
  CHECK_THAT(runner.err.str(), Catch::Contains("; it was free when last seen, and another") &&
                                   !Catch::Contains("rival") && !Catch::Contains("a long job"));
}

TEST_CASE("a quiet run says nothing of a lock that stays busy", "[cli][run]") {
  Runner runner;
  const auto held = runner.rival.lock("jobs");
  REQUIRE(held->lock_try("a long job"));
  RunArguments arguments = arguments_for("jobs");
  arguments.common.verbosity = Verbosity::quiet;
  arguments.wait = GENERATE(0ms, 1s);
  runner.on_terminal = true;
  CHECK(runner.runs(arguments, [](const Command&) { return exits(0); }) == kBusy);
  CHECK(runner.err.str().empty());
}

TEST_CASE("a run that waits on a terminal says once for whom", "[cli][run]") {
  Runner runner;
  runner.on_terminal = GENERATE(true, false);
  const auto held = runner.rival.lock("jobs");
  REQUIRE(held->lock_try("a long job"));
  RunArguments arguments = arguments_for("jobs");
  arguments.wait = 1min;
  CHECK(runner.runs(arguments, [](const Command&) { return exits(0); }) == kBusy);
  const std::string said = runner.err.str();
  const auto told = said.find("waiting for jobs, held by rival (a long job)");
  CHECK((told != std::string::npos) == runner.on_terminal);
  CHECK(said.find("waiting for jobs", told + 1) == std::string::npos);
}

TEST_CASE("a run that waits on a terminal says its place behind the waiters in line",
          "[cli][run][R17]") {
  Runner runner;
  runner.on_terminal = true;
  const auto held = runner.rival.lock("jobs");
  REQUIRE(held->lock_try("a long job"));
  runner.runner.store->has_line = true;
  for (const int ticket : {1, 2}) runner.stands_behind(ticket);
  RunArguments arguments = arguments_for("jobs");
  arguments.wait = 1min;
  CHECK(runner.runs(arguments, [](const Command&) { return exits(0); }) == kBusy);
  CHECK_THAT(runner.err.str(),
             Catch::Contains("waiting for jobs, held by rival (a long job), 3rd in line\n"));
}

TEST_CASE("a run keeps its place in line for as long as it waits", "[cli][run][R17]") {
  Runner runner;
  runner.on_terminal = true;
  runner.runner.store->has_line = true;
  const auto held = runner.rival.lock("jobs");
  REQUIRE(held->lock_try("a long job"));
  const auto began = runner.fleet.clock->steady_now();
  // Behind the run, which looks at the lock once it stands in line.
  runner.runner.store->before("inspect", [&] { runner.stands_behind(1); });
  bool freed = false;
  runner.runner.store->during_each_call([&](const std::string& call) {
    if (freed || call != "inspect" || runner.fleet.clock->steady_now() < began + 10s) return;
    freed = true;
    CHECK(held->unlock() == UnlockResult::released);
  });
  CHECK(runner.runs(arguments_for("jobs"), [](const Command&) { return exits(3); }) == 3);
  runner.runner.store->during_each_call({});
  CHECK_THAT(runner.err.str(),
             Catch::Contains("waiting for jobs, held by rival (a long job), 1st in line\n"));
  const std::vector<Waiter> line = runner.fleet.stored("jobs").line;
  REQUIRE(line.size() == 1);
  CHECK_FALSE(line.front().passed_over);
}

TEST_CASE("a wait goes on through an outage of the store until its own end", "[cli][run][R15]") {
  Runner runner;
  runner.runner.store->has_line = GENERATE(false, true);
  RunArguments arguments = arguments_for("jobs");
  arguments.wait = 1min;
  REQUIRE(runner.runner.store->calls() == 0);
  SECTION("the store comes back in time") {
    arguments.common.verbosity = GENERATE(Verbosity::normal, Verbosity::quiet);
    // More than the library's patience of 30 s at a look a second.
    runner.runner.store->fail("ping", distlock::testing::Fault::rejected, 60);
    CHECK(runner.runs(arguments, [](const Command&) { return exits(3); }) == 3);
    CHECK(runner.fleet.clock->waited() > 30s);
    const std::string said = runner.err.str();
    CHECK_THAT(said, Catch::Contains("waiting for the store"));
    CHECK(said.find("waiting for the store") == said.rfind("waiting for the store"));
  }
  SECTION("the store stays away") {
    runner.goes_away();
    CHECK(distlock::testing::thrown_by([&] {
            return runner.runs(arguments, [](const Command&) { return exits(3); });
          }) == Errc::not_applied);
    CHECK(runner.fleet.clock->waited() >= 1min);
    CHECK(runner.fleet.clock->waited() < 61s);
  }
  SECTION("less patience was asked for") {
    arguments.store_patience = GENERATE(0ms, 10s);
    runner.goes_away();
    CHECK(distlock::testing::thrown_by([&] {
            return runner.runs(arguments, [](const Command&) { return exits(3); });
          }) == Errc::not_applied);
    CHECK(runner.fleet.clock->waited() <= *arguments.store_patience + 1500ms);
  }
  SECTION("the opening has taken its part") {
    runner.waited = 50s;
    const auto held = runner.rival.lock("jobs");
    REQUIRE(held->lock_try("a long job"));
    CHECK(runner.runs(arguments, [](const Command&) { return exits(3); }) == kBusy);
    CHECK(runner.fleet.clock->waited() == 10s);
    CHECK_THAT(runner.err.str(), Catch::Contains("still after 1m"));
  }
}

TEST_CASE("a signal while waiting ends with 128 and its number", "[cli][run]") {
  Runner runner;
  const auto held = runner.rival.lock("jobs");
  REQUIRE(held->lock_try("a long job"));
  runner.stop.request_stop();
  runner.signal = SIGINT;
  const auto never = [](const Command&) -> Ending { throw std::logic_error("it ran"); };
  CHECK(runner.runs(arguments_for("jobs"), never) == 128 + SIGINT);
  CHECK(runner.err.str() == "distlock: SIGINT while waiting for jobs\n");
}

TEST_CASE("a signal that comes as the lock is got keeps the command from starting", "[cli][run]") {
  Runner runner;
  runner.signal = SIGTERM;
  const auto never = [](const Command&) -> Ending { throw std::logic_error("it ran"); };
  CHECK(runner.runs(arguments_for("jobs"), never) == 128 + SIGTERM);
  CHECK_FALSE(runner.fleet.stored("jobs").taken());
}

TEST_CASE("a lock that was lost while the command ran is 75, whatever the command says",
          "[cli][run]") {
  Runner runner;
  const int status = runner.runs(arguments_for("jobs"), [&](const Command&) {
    const LockRecord hold = runner.fleet.stored("jobs");
    REQUIRE(runner.fleet.store->release("jobs", *hold.ts) == ReleaseResult::freed);
    const auto thief = runner.rival.lock("jobs");
    REQUIRE(thief->lock_try("after a break"));
    CHECK(thief->unlock() == UnlockResult::released);
    return exits(0);
  });
  CHECK(status == kLockLost);
  CHECK_THAT(runner.err.str(), Catch::Contains("lost jobs"));
}

TEST_CASE("a signal that has ended the command is named", "[cli][run]") {
  Runner runner;
  const auto [number, name] = GENERATE(std::pair(SIGTERM, "SIGTERM"), std::pair(64, "signal 64"));
  const auto killed = [number = number](const Command&) {
    return Ending{.exit_status = 128 + number, .by_signal = number};
  };
  CHECK(runner.runs(arguments_for("jobs"), killed) == 128 + number);
  CHECK(runner.err.str() == std::string("distlock: backup was ended by ") + name + '\n');
}

TEST_CASE("a command that has outlasted the deadline is 75, whoever holds the lock",
          "[cli][run][R9]") {
  Runner runner;
  const int status = runner.runs(arguments_for("jobs"), [&](const Command&) {
    runner.fleet.clock->advance(16min);
    return exits(0);
  });
  CHECK(status == kLockLost);
  CHECK_THAT(runner.err.str(), Catch::Contains("deadline passed"));
}

TEST_CASE("a release that stays pending is a warning, not the command's failure",
          "[cli][run][R11]") {
  Runner runner;
  runner.runner.store->fail("release", distlock::testing::Fault::rejected, 9);
  CHECK(runner.runs(arguments_for("jobs"), [](const Command&) { return exits(4); }) == 4);
  CHECK_THAT(runner.err.str(), Catch::Contains("taken over after"));
}

TEST_CASE("a command that cannot start is 127 or 126, and the lock is free again", "[cli][run]") {
  Runner runner;
  const auto missing = [](const Command&) -> Ending { throw StartFailure{ENOENT}; };
  CHECK(runner.runs(arguments_for("jobs"), missing) == kNotFound);
  const auto refused = [](const Command&) -> Ending { throw StartFailure{EACCES}; };
  CHECK(runner.runs(arguments_for("jobs"), refused) == kNotExecutable);
  CHECK_FALSE(runner.fleet.stored("jobs").taken());
  CHECK_THAT(runner.err.str(), Catch::Contains("cannot run backup"));
}
