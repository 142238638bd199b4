// The file in /dev/shm that the MongoDB driver makes before main() of every program with it.
#include <catch2/catch.hpp>

#include "process/tool_fixture.h"

using namespace distlock::testing;

TEST_CASE("while the tool runs there is no file of counters that a kill would leave", "[process]") {
  ToolFixture fixture;
  // ToolProcess has the driver do without them, so the tool is started by another one's command.
  const std::string tool = "env -u MONGOC_DISABLE_SHM " + tool_path();
  const std::string look = "ls /dev/shm | grep -c \"^mongoc-$PPID\\$\"";
  CHECK(fixture.status(
            {"run", "jobs", "--", "sh", "-c", tool + " run other -- sh -c '" + look + "'"}) == 1);
  CHECK(fixture.output == "0\n");
}
