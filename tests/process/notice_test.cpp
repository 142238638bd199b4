#include <catch2/catch.hpp>

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
