// The completions as a shell asks for them.
#include <catch2/catch.hpp>

#include "process/tool_fixture.h"

using namespace distlock::testing;

TEST_CASE("a completion offers no name that is written in another way", "[process][list]") {
  ToolFixture fixture;
  for (const char* const name : {"jobs", "two\nlines", "back\\slash", "my jobs"}) {
    REQUIRE(fixture.status({"run", name, "true"}) == 0);
  }
  std::filesystem::create_symlink(tool_path(), fixture.folder.path() / "distlock");
  const std::string ask = "PATH=" + fixture.folder.path().string() +
                          ":$PATH; . " DISTLOCK_SOURCES
                          "/src/cli/completion.bash; "
                          "COMP_LINE='distlock status '; COMP_POINT=${#COMP_LINE}; _distlock; "
                          "printf '%s\\n' \"${COMPREPLY[@]}\"";
  CHECK(fixture.status({"run", "other", "--", "bash", "-c", ask}) == 0);
  CHECK(fixture.output == "jobs\nmy\\ jobs\nother\n");
}
