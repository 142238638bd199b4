// The tool on a mirrored store with members that are missing or no good, and on one member alone.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace fs = std::filesystem;

namespace {

struct MirroredFiles : ToolFixture {
  int status_of(ToolFixture::Words words) {
    words.insert(words.begin() + 1, {std::string("--uri"), uri});
    return status(words);
  }
  int found() { return status_of({"run", "jobs", "--", "true"}); }

  const std::string in = folder.path().string();
  const std::string uri = "mirrored+sqlite:" + in + "/a," + in + "/b," + in + "/c";
};

}  // namespace

TEST_CASE("where a majority of a mirrored store is away, -v shows each member, and why",
          "[process][list][M2]") {
  MirroredFiles files;
  REQUIRE(files.found() == 0);
  fs::remove(files.in + "/b");
  std::ofstream(files.in + "/c", std::ios::trunc) << std::string(9000, 'x');
  for (const std::string command : {"list", "status"}) {
    CHECK(files.status_of({command, "-v"}) == 69);
    CHECK_THAT(files.output, Catch::Contains("1       ok") && Catch::Contains("2       away") &&
                                 Catch::Contains("3       away"));
    CHECK_THAT(files.messages, Catch::Contains("there is no file"));
  }
  CHECK_FALSE(fs::exists(files.in + "/b"));
  std::ofstream(files.in + "/b") << std::string(9000, 'x');
  CHECK(files.status_of({"list", "-v"}) == 65);
  CHECK_THAT(files.output, Catch::Contains("2       away"));
}

TEST_CASE("commands that look found no mirrored store, and run does", "[process][list][M6]") {
  MirroredFiles files;
  for (const char* const file : {"/a", "/b", "/c"}) {
    REQUIRE(files.status({"run", "--uri", "sqlite:" + files.in + file, "x", "--", "true"}) == 0);
    fs::remove(files.in + file);
    std::ofstream(files.in + file);
  }
  for (const std::string command : {"list", "status"}) {
    CHECK(files.status_of({command}) == 69);
    CHECK_THAT(files.messages, Catch::Contains("no set yet"));
  }
  CHECK(files.found() == 0);
  CHECK(files.status_of({"list"}) == 0);
}

TEST_CASE("the tool takes and breaks no lock on one member of a mirrored store alone",
          "[process][run][M1]") {
  MirroredFiles files;
  REQUIRE(files.found() == 0);
  const std::string member = "sqlite:" + files.in + "/a";
  const std::string identity = "distlock: member of a mirrored store";
  CHECK(files.status({"run", "--uri", member, "jobs", "--", "true"}) == 64);
  CHECK_THAT(files.messages, Catch::Contains("is member 1 of 3 of a mirrored store"));
  CHECK(files.status({"break", "--uri", member, "--yes", "jobs"}) == 64);
  CHECK(files.status({"break", "--uri", member, "--yes", identity}) == 64);
  CHECK_THAT(files.messages, Catch::Contains("is no lock"));
  CHECK(files.status({"run", "--uri", "sqlite:" + files.in + "/d", identity, "--", "true"}) == 64);
  CHECK(files.status({"list", "--uri", member}) == 0);
  CHECK_THAT(files.messages, Catch::Contains("is member 1 of 3 of a mirrored store"));
}

TEST_CASE("status of one member of a mirrored store says that it is one", "[process][status][M1]") {
  MirroredFiles files;
  REQUIRE(files.found() == 0);
  CHECK(files.status({"status", "--uri", "sqlite:" + files.in + "/b"}) == 0);
  CHECK_THAT(files.messages, Catch::Contains("is member 2 of 3 of a mirrored store"));
}

TEST_CASE("readmit makes no mirrored store where there is none", "[process][readmit][M6]") {
  MirroredFiles files;
  CHECK(files.status_of({"readmit", "--yes", "1"}) == 69);
  CHECK_THAT(files.messages, Catch::Contains("there is no file"));
  for (const char* const file : {"/a", "/b", "/c"}) CHECK_FALSE(fs::exists(files.in + file));
}

TEST_CASE("a list of some locks on one member of a mirrored store says that it is one",
          "[process][list][M1]") {
  MirroredFiles files;
  REQUIRE(files.found() == 0);
  const std::string member = "sqlite:" + files.in + "/b";
  for (const std::string some : {"--held", "jo*", "--names"}) {
    CAPTURE(some);
    CHECK(files.status({"list", "--uri", member, some}) == 0);
    CHECK_THAT(files.messages, Catch::Contains("is member 2 of 3 of a mirrored store"));
  }
}

TEST_CASE("a watch of one member of a mirrored store says that it is one", "[process][list][M1]") {
  MirroredFiles files;
  REQUIRE(files.found() == 0);
  const std::string member = "sqlite:" + files.in + "/b";
  for (const std::string format : {"--json", "--names"}) {
    const auto watch = files.start({"list", "--watch", "--uri", member, format});
    CHECK_THAT(watch->next_message(), Catch::Contains("is member 2 of 3 of a mirrored store"));
  }
  const auto watch = files.start({"list", "--watch", "--uri", member});
  CHECK_THAT(watch->next_output(), Catch::Contains("is member 2 of 3 of a mirrored store"));
}
