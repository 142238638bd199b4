// Names and words that could steer a terminal, as the command says them.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "cli/exit_status.h"
#include "cli/operator.h"
#include "cli/parsed.h"
#include "cli/runner.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

namespace {

const std::string kSteers = "a\033[2Jb";
const std::string kTame = "a\\x1b[2Jb";

/// A run of a lock and a command that are both called so.
RunArguments run_that_steers() {
  RunArguments arguments = arguments_for(kSteers);
  arguments.command = {kSteers};
  return arguments;
}

void check_tame(const std::string& said, const std::string& part) {
  CHECK_THAT(said, Catch::Contains(part) && !Catch::Contains("\033"));
}

/// All that a run says whose command ends like that.
std::string said_of_run(Runner& runner, const RunArguments& arguments, const Ending& ending) {
  (void)runner.runs(arguments, [&](const Command&) { return ending; });
  return runner.err.str();
}

}  // namespace

TEST_CASE("a run that gets no lock cannot steer the terminal by its name", "[cli][run][R14]") {
  Runner runner;
  const auto held = runner.rival.lock(kSteers);
  REQUIRE(held->lock_try("x"));
  runner.on_terminal = true;
  RunArguments arguments = run_that_steers();
  SECTION("it waits") {
    arguments.wait = 1min;
    const std::string said = said_of_run(runner, arguments, exits(0));
    check_tame(said, "waiting for " + kTame + ", held by rival");
    check_tame(said, "distlock: " + kTame + " is held by rival");
  }
  SECTION("a signal ends its wait") {
    runner.stop.request_stop();
    runner.signal = SIGINT;
    check_tame(said_of_run(runner, arguments, exits(0)), "while waiting for " + kTame + '\n');
  }
}

TEST_CASE("a run that does not get a free lock cannot steer the terminal by its name",
          "[cli][run][R14]") {
  Runner runner;
  runner.runner.store->has_line = true;
  const auto held = runner.rival.lock(kSteers);
  REQUIRE(held->lock_try("x"));
  const Claim next = runner.fleet.claim_by("waiter", Token{{1}});
  REQUIRE(runner.fleet.store->line()->stand(kSteers, next).in_line);
  REQUIRE(held->unlock() == UnlockResult::released);
  RunArguments arguments = run_that_steers();
  arguments.wait = 0ms;
  check_tame(said_of_run(runner, arguments, exits(0)), "did not get " + kTame + ';');
}

TEST_CASE("a run that has its lock cannot steer the terminal by any name", "[cli][run][R14]") {
  Runner runner;
  RunArguments arguments = run_that_steers();
  SECTION("it says that it holds") {
    arguments.common.verbosity = Verbosity::verbose;
    check_tame(said_of_run(runner, arguments, exits(0)), "holding " + kTame + ", fence 1\n");
  }
  SECTION("a signal has ended its command") {
    const Ending killed{.exit_status = 128 + SIGKILL, .by_signal = SIGKILL};
    check_tame(said_of_run(runner, arguments, killed), kTame + " was ended by SIGKILL\n");
  }
  SECTION("its deadline drew near") {
    const bool begun = GENERATE(true, false);
    const Ending cut{.exit_status = kLockLost, .cut_short = true, .begun = begun};
    check_tame(said_of_run(runner, arguments, cut), "for the deadline of " + kTame + " drew near");
  }
  SECTION("its release stays pending") {
    runner.runner.store->fail("release", distlock::testing::Fault::rejected, 9);
    check_tame(said_of_run(runner, arguments, exits(0)), "could not release " + kTame + ';');
  }
}

TEST_CASE("a run that fails cannot steer the terminal by any name", "[cli][run][R14]") {
  Runner runner;
  SECTION("its command does not start") {
    const auto missing = [](const Command&) -> Ending { throw StartFailure{ENOENT}; };
    CHECK(runner.runs(run_that_steers(), missing) == kNotFound);
    check_tame(runner.err.str(), "cannot run " + kTame + ": ");
  }
  SECTION("its lock is lost") {
    const auto outlasts = [&](const Command&) {
      runner.fleet.clock->advance(16min);
      return exits(0);
    };
    CHECK(runner.runs(run_that_steers(), outlasts) == kLockLost);
    check_tame(runner.err.str(), "lost " + kTame + " while the command ran");
  }
}

TEST_CASE("break cannot steer the terminal by the name of its lock", "[cli][break][R14]") {
  Operator someone;
  const auto lock = someone.holder.lock(kSteers);
  CHECK(someone.breaks(kSteers, "") == kBusy);
  check_tame(someone.err.str(), "nobody has ever claimed " + kTame + '\n');
  REQUIRE(lock->lock_try("x"));
  CHECK(someone.breaks(kSteers, "n\n") == kBusy);
  check_tame(someone.err.str(), "left " + kTame + " as it is\n");
  SECTION("the hold is freed") {
    CHECK(someone.breaks(kSteers, "y\n") == kSuccess);
    check_tame(someone.err.str(), "freed " + kTame + '\n');
    CHECK(someone.breaks(kSteers, "y\n") == kSuccess);
    check_tame(someone.err.str(), kTame + " is free already\n");
  }
  SECTION("the hold was released meanwhile") {
    someone.observer.store->before("release", [&] { lock->unlock(); });
    CHECK(someone.breaks(kSteers, "y\n") == kSuccess);
    check_tame(someone.err.str(), kTame + " is free already\n");
  }
  SECTION("another hold came meanwhile") {
    someone.observer.store->before("release", [&] {
      lock->unlock();
      REQUIRE(lock->lock_try("y"));
    });
    CHECK(someone.breaks(kSteers, "y\n") == kBusy);
    check_tame(someone.err.str(), kTame + " has changed hands since");
  }
  SECTION("its holder is waited for") {
    BreakArguments arguments;
    arguments.lock = kSteers;
    arguments.confirmed = arguments.wait = true;
    CHECK(someone.breaks(arguments, "") == kSuccess);
    check_tame(someone.err.str(), kTame + ": its holder has been silent");
  }
}

TEST_CASE("a mistake on the command line cannot steer the terminal", "[cli][arguments][R14]") {
  for (const Words& words :
       {Words{kSteers}, Words{"help", kSteers}, Words{"list", "a", kSteers},
        Words{"list", "--" + kSteers}, Words{"run", "--" + kSteers, "n", "true"},
        Words{"run", "-E", kSteers, "n", "true"}, Words{"run", "-w", kSteers, "n", "true"},
        Words{"run", "--on-loss", kSteers, "n", "true"}, Words{"readmit", kSteers},
        Words{"role", "--database", kSteers}, Words{"status", kSteers + '\xff'},
        Words{"run", "--why", kSteers + '\xff', "n", "true"}}) {
    CAPTURE(words.front(), words.size());
    check_tame(problem(words), kTame);
  }
}
