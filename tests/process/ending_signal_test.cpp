// How the tool ends where a signal has ended its command.
#include <signal.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "process/tool_fixture.h"

using namespace distlock::testing;

TEST_CASE("a run whose command ended by ^C or another ending signal ends by it", "[process][run]") {
  ToolFixture fixture;
  const auto run = [&](const std::string& script) {
    auto tool = fixture.start({"run", "jobs", "--", "sh", "-c", script});
    tool->wait();
    return tool;
  };
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    const auto ended = run("kill -" + std::to_string(signal) + " $$");
    CHECK(ended->signal() == signal);
    CHECK_THAT(ended->rest_of_messages(), Catch::Contains("was ended by"));
    const auto handled = run("exit " + std::to_string(128 + signal));
    CHECK(handled->signal() == 0);
    CHECK(handled->wait() == 128 + signal);
  }
  // Nobody expects that of a wrapper.
  CHECK(run("kill -KILL $$")->signal() == 0);
  const auto pipe = run("kill -PIPE $$");
  CHECK(pipe->signal() == 0);
  CHECK(pipe->rest_of_messages().empty());
  CHECK(fixture.status({"run", "-n", "jobs", "true"}) == 0);
}

TEST_CASE("signals from the end of the command on do not change the run's status",
          "[process][run][R15]") {
  ToolFixture fixture;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    CAPTURE(signal);
    const auto tool = fixture.start({"run", "jobs", "--", "sh", "-c",
                                     "trap '' " + std::to_string(signal) + "; echo deaf; exit 5"});
    REQUIRE(tool->next_output() == "deaf");
    while (!tool->has_ended()) {
      tool->send(signal);
      std::this_thread::yield();
    }
    CHECK(tool->wait() == 5);
    CHECK(tool->signal() == 0);
  }
}

TEST_CASE("a run under nohup does not end by SIGHUP", "[process][run]") {
  ToolFixture fixture;
  const auto outer =
      fixture.start({"run", "outer", "--", "env", "--ignore-signal=HUP", tool_path(), "run", "jobs",
                     "--", "env", "--default-signal=HUP", "sh", "-c", "kill -HUP $$"});
  CHECK(outer->wait() == 128 + SIGHUP);
  CHECK(outer->signal() == 0);
}
