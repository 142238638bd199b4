// The options of a run that its lock gets.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <sstream>
#include <stdexcept>

#include "cli/exit_status.h"
#include "cli/run.h"
#include "distlock/error.h"
#include "runner.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

TEST_CASE("a run grants a holder that states no window the one that it was told to",
          "[cli][run][R6][R1]") {
  Runner runner;
  const StoreTime now = runner.fleet.store->list().now.time;
  runner.fleet.memory.tables.put_lock({{"_id", std::string("jobs")},
                                       {"state", std::int32_t{1}},
                                       {"process", std::string("mongos")},
                                       {"who", std::string("mongos:conn1:1")},
                                       {"why", std::string("balancing")},
                                       {"when", now},
                                       {"ts", Token{}}});
  runner.fleet.memory.tables.put_ping({{"_id", std::string("mongos")}, {"ping", now}});
  RunArguments arguments = arguments_for("jobs");
  arguments.window.unstated_window = 1h;
  arguments.wait = 0ms;
  runner.fleet.clock->advance(30min);  // More than the run's own window.
  CHECK(runner.runs(arguments, [](const Command&) { return exits(0); }) == kBusy);
  runner.fleet.clock->advance(30min);
  CHECK(runner.runs(arguments, [](const Command&) { return exits(0); }) == 0);
}

TEST_CASE("the record of a run has its purpose, whatever the limit of its wait", "[cli][run]") {
  using Limit = std::optional<std::chrono::milliseconds>;
  Runner runner;
  RunArguments arguments = arguments_for("jobs");
  arguments.wait = GENERATE(Limit(), Limit(0ms), Limit(1min));
  std::string why;
  const int status = runner.runs(arguments, [&](const Command&) {
    why = runner.fleet.stored("jobs").why;
    return exits(0);
  });
  CHECK(status == 0);
  CHECK(why == "backup");
}

TEST_CASE("a release that stays pending is told with the window of the run", "[cli][run][R11]") {
  Runner runner;
  RunArguments arguments = arguments_for("jobs");
  arguments.window.takeover_after = 10min;
  runner.runner.store->fail("release", distlock::testing::Fault::rejected, 9);
  CHECK(runner.runs(arguments, [](const Command&) { return exits(4); }) == 4);
  CHECK_THAT(runner.err.str(), Catch::Contains("it can be taken over after 10m\n"));
}

TEST_CASE("a signal ends also a run that makes one try", "[cli][run][R15]") {
  Runner runner;
  auto arguments = arguments_for("jobs");
  arguments.wait = std::chrono::seconds{0};
  runner.runner.store->before("inspect", [&] {
    runner.stop.request_stop();
    runner.signal = SIGTERM;
  });
  const auto never = [](const Command&) -> Ending { throw std::logic_error("it ran"); };
  CHECK(runner.runs(arguments, never) == 128 + SIGTERM);
  CHECK(runner.runner.store->calls("claim") == 0);
}
