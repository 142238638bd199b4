// The message and the status of `distlock run` for a command that it has ended, or has not begun.
#include <signal.h>

#include <catch2/catch.hpp>
#include <string>

#include "cli/exit_status.h"
#include "cli/run.h"
#include "runner.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

TEST_CASE("a command that was cut short is 75, though the lock was still held", "[cli][run][R9]") {
  Runner runner;
  const int status = runner.runs(arguments_for("jobs"), [&](const Command&) {
    return Ending{.exit_status = 128 + SIGTERM, .by_signal = SIGTERM, .cut_short = true};
  });
  CHECK(status == kLockLost);
  CHECK_THAT(runner.err.str(),
             Catch::Contains("drew near") && Catch::EndsWith("; backup was ended by SIGTERM\n"));
  CHECK_FALSE(runner.fleet.stored("jobs").taken());
}

TEST_CASE("a command that never began is not said to have run", "[cli][run][R9]") {
  Runner runner;
  enum class End { deadline_near, ran_out, broken };
  const End end = GENERATE(End::deadline_near, End::ran_out, End::broken);
  const int status = runner.runs(arguments_for("jobs"), [&](const Command&) {
    if (end == End::ran_out) runner.fleet.clock->advance(1h);
    const auto ts = runner.fleet.stored("jobs").ts;
    if (end == End::broken) runner.fleet.store->release("jobs", *ts);
    return Ending{.exit_status = 1, .cut_short = end != End::broken, .begun = false};
  });
  CHECK(status == kLockLost);
  const bool near = end == End::deadline_near;
  CHECK_THAT(runner.err.str(),
             Catch::Contains(near ? "did not start" : "lost jobs before the command began"));
}
