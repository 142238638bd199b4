// A SQLite file whose write-ahead log somebody removes while a run has it open.
#include <catch2/catch.hpp>
#include <filesystem>

#include "process/tool_fixture.h"

using namespace distlock::testing;

TEST_CASE("a run whose log was removed takes nothing from those who came since",
          "[process][run][R1][R10]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  for (const char* const end : {"-wal", "-shm"})
    std::filesystem::remove(fixture.file().string() + end);
  const auto fence_of_next = [&] {
    REQUIRE(fixture.status({"run", "other", "--", "sh", "-c", "echo $DISTLOCK_FENCE"}) == 0);
    return fixture.output;
  };
  CHECK(fence_of_next() == "1\n");
  CHECK(fence_of_next() == "2\n");
  holder->close_input();
  CHECK(holder->wait() == 0);  // Its release is pending; it has had no ping to notice by.
  CHECK(fence_of_next() == "3\n");
  REQUIRE(fixture.status({"list", "--names"}) == 0);
  CHECK(fixture.output == "other\n");
}
