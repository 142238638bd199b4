#include <catch2/catch.hpp>
#include <string>

#include "process/tool_fixture.h"

using namespace distlock::testing;

TEST_CASE("a tool that can open few files runs, or says at once that they are too few",
          "[process][unsanitized]") {
  ToolFixture fixture;
  int runs = 0;
  for (int most = 8; most < 32; ++most) {
    const std::string shell =
        "ulimit -n " + std::to_string(most) + "; exec " + tool_path() + " run jobs true";
    CAPTURE(most);
    if (fixture.status({"run", "outer", "--", "sh", "-c", shell}) == 0) {
      ++runs;
    } else {
      CHECK(runs == 0);
      CHECK_THAT(fixture.messages,
                 Catch::Contains("ulimit -n") || Catch::Contains("loading shared"));
    }
  }
  CHECK(runs > 4);
}
