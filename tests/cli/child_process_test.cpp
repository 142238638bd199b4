#include "cli/child_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>

#include "cli/supervision.h"
#include "support/temporary_folder.h"

using namespace distlock::cli;

namespace {

/// Under a lock that lasts.
Ending run_to_end(const Command& command, const Signals& signals) {
  Keeper keeper;
  const auto valid_until = [] { return distlock::SteadyTime{std::chrono::years{200}}; };
  return run_to_end(command, signals, {valid_until, {}, {.look_every = std::chrono::hours{1}}},
                    keeper);
}

}  // namespace

TEST_CASE("a child ends with its own status", "[cli][child]") {
  const Signals signals;
  CHECK(run_to_end({.words = {"sh", "-c", "exit 7"}, .environment = {}}, signals).exit_status == 7);
}

TEST_CASE("a child that a signal ended gives 128 and its number", "[cli][child]") {
  const Signals signals;
  const Ending ending =
      run_to_end({.words = {"sh", "-c", "kill -KILL $$"}, .environment = {}}, signals);
  CHECK(ending.exit_status == 128 + SIGKILL);
  CHECK(ending.by_signal == SIGKILL);
}

TEST_CASE("a child gets our environment and what is added, which wins", "[cli][child]") {
  const Signals signals;
  setenv("DISTLOCK_FENCE", "outer", 1);
  const Ending ending =
      run_to_end({.words = {"sh", "-c", "test \"$DISTLOCK_FENCE\" = 5 && test -n \"$PATH\""},
                  .environment = {{"DISTLOCK_FENCE", "5"}}},
                 signals);
  unsetenv("DISTLOCK_FENCE");
  CHECK(ending.exit_status == 0);
}

TEST_CASE("a command that is not there or not executable is a start failure", "[cli][child]") {
  const Signals signals;
  const distlock::testing::TemporaryFolder empty;
  try {
    run_to_end({.words = {empty.path() / "command"}, .environment = {}}, signals);
    FAIL("it started");
  } catch (const StartFailure& failure) {
    CHECK(failure.error == ENOENT);
  }
  try {
    run_to_end({.words = {"/"}, .environment = {}}, signals);
    FAIL("it started");
  } catch (const StartFailure& failure) {
    CHECK(failure.error == EACCES);
  }
}

TEST_CASE("a child has none of the signals blocked that we wait for", "[cli][child]") {
  const Signals signals;
  const Ending ending =
      run_to_end({.words = {"sh", "-c", "kill -TERM $$"}, .environment = {}}, signals);
  CHECK(ending.by_signal == SIGTERM);
}

TEST_CASE("a signal that comes to us goes on to the child", "[cli][child]") {
  const Signals signals;
  // The shell asks for the signal itself, so that it is ready for it.
  const Ending ending = run_to_end(
      {.words = {"sh", "-c", "trap 'exit 42' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"},
       .environment = {}},
      signals);
  CHECK(ending.exit_status == 42);
}
