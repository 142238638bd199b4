// A `distlock run` in the command of another one.
#include <signal.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

/// A run for one lock, with a run for the other one in its command. Both wait for their input's
/// end in between.
std::unique_ptr<ToolProcess> nested(const ToolFixture& fixture, const std::string& lock,
                                    const std::string& other) {
  const std::string inner = "'" + tool_path() + "' run " + other + " -- echo got " + other;
  auto run = fixture.start({"run", lock, "--", "sh", "-c", "echo ready; read line; exec " + inner});
  REQUIRE(run->next_output() == "ready");
  return run;
}

void check_that_it_warns(ToolProcess& run, const std::string& lock) {
  CHECK_THAT(run.next_message(),
             Catch::Contains("this wait may never end: this process waits for \"" + lock + "\"") &&
                 Catch::Contains("whose command contains this process"));
}

}  // namespace

TEST_CASE("crossed runs in runs warn that they may wait for ever, and are listed",
          "[process][run][R22]") {
  ToolFixture fixture;
  const auto first = nested(fixture, "a", "b");
  const auto second = nested(fixture, "b", "a");
  first->close_input();
  second->close_input();
  check_that_it_warns(*first, "b");
  check_that_it_warns(*second, "a");
  REQUIRE(fixture.status({"list"}) == 0);
  CHECK_THAT(fixture.output, Catch::Contains("possible deadlock: "));
  first->send(SIGTERM);
  CHECK(first->wait() == 128 + SIGTERM);
  CHECK(second->next_output() == "got a");
  CHECK(second->wait() == 0);
}

TEST_CASE("a run for the lock of the run that it is in warns that it may wait for ever",
          "[process][run][R22]") {
  const ToolFixture fixture;
  const auto run = nested(fixture, "a", "a");
  run->close_input();
  check_that_it_warns(*run, "a");
  run->send(SIGTERM);
  CHECK(run->wait() == 128 + SIGTERM);
}
