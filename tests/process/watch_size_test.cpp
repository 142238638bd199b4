#include <catch2/catch.hpp>

#include "process/on_terminal.h"
#include "process/tool_fixture.h"

using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a watch is drawn anew for a terminal that becomes smaller", "[process]") {
  ToolFixture fixture;
  REQUIRE(fixture.status({"run", "jobs", "--", "true"}) == 0);
  const winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  OnTerminal watch({tool_path(), "list", "--watch", "--uri=sqlite:" + fixture.file().string()},
                   &size);
  CHECK(watch.shows("no pings", 120s));
  CHECK(watch.shown().find("more lines") == std::string::npos);
  watch.resize({.ws_row = 3, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0});
  CHECK(watch.shows("more lines", 120s));
}
