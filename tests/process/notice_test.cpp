#include <catch2/catch.hpp>
#include <iostream>

#include "process/on_terminal.h"
#include "process/tool_fixture.h"

using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a wait is told on a terminal, wherever the command's output goes", "[process][run]") {
  const ToolFixture fixture;
  const auto holder = fixture.hold();
  OnTerminal waiter({"/bin/sh", "-c",
                     "exec '" + tool_path() + "' run '--uri=sqlite:" + fixture.file().string() +
                         "' jobs true >/dev/null"});
  CHECK(waiter.shows("waiting for jobs, held by", 60s));
}

TEST_CASE("a watch that is the first process of a container ends by SIGTERM",
          "[process][list][unsanitized]") {
  ToolFixture fixture;
  const std::string inside = "unshare --user --map-root-user --pid --fork --kill-child ";
  const auto told_by = [&](const std::string& script) {
    REQUIRE(fixture.status({"run", "jobs", "--", "sh", "-c", script}) == 0);
    return fixture.output;
  };
  if (told_by(inside + "true && echo made; true") != "made\n") {
    std::cout << "SKIPPED: this machine makes no PID namespaces (unshare -U)" << std::endl;
    return;
  }
  const std::string shown = fixture.folder.path() / "shown";
  CHECK(told_by(inside + tool_path() + " list --watch >" + shown + " & u=$!; until [ -s " + shown +
                " ]; do sleep 0.01; done; kill -TERM $(cat /proc/$u/task/$u/children); wait $u; "
                "echo $?") == "143\n");
}

TEST_CASE("a run says where a loss ends less, since /proc does not show the processes",
          "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  // With the /proc of the outer namespace.
  const std::string inside = "unshare --user --map-root-user --pid --fork ";
  const auto status_inside = [&](const std::string& words) {
    return fixture.status({"run", "other", "--", "sh", "-c", inside + words});
  };
  if (status_inside("true") != 0) {
    std::cout << "SKIPPED: this machine makes no PID namespaces (unshare -U)" << std::endl;
    return;
  }
  CHECK(status_inside(tool_path() + " run jobs -- true") == 0);
  CHECK_THAT(fixture.messages, Catch::Contains("does not show the processes here"));
  CHECK(status_inside(tool_path() + " run --on-loss ignore jobs -- true") == 0);
  CHECK_THAT(fixture.messages, !Catch::Contains("does not show the processes here"));
}
