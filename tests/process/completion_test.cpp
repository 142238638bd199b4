// The completions as a shell asks for them.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

/// The tree of the sources, or one with a bug that tools/mutants has planted.
std::string sources() {
  const char* const other = getenv("DISTLOCK_SOURCES");
  return other != nullptr ? other : DISTLOCK_SOURCES;
}

/// A fixture whose folder has the tool by the name that completions call.
class Completion : public ToolFixture {
 public:
  Completion() {
    std::filesystem::create_symlink(tool_path(), folder.path() / "distlock");
    // With a sanitizer the tool needs more than the second that the completion gives it.
    const std::string timeout = folder.path() / "timeout";
    std::ofstream(timeout) << "#!/bin/sh\nshift\nexec \"$@\"\n";
    std::filesystem::permissions(timeout, std::filesystem::perms::owner_all);
  }

  /// The words that bash offers behind the line, one a line.
  std::string offered(const std::string& line) {
    const std::string ask = "PATH=" + folder.path().string() + ":$PATH; . '" + sources() +
                            "/src/cli/completion.bash'; COMP_LINE='" + line +
                            "'; COMP_POINT=${#COMP_LINE}; _distlock; "
                            "printf '%s\\n' \"${COMPREPLY[@]}\"";
    CHECK(status({"run", "other", "--", "bash", "-c", ask}) == 0);
    return output;
  }
};

}  // namespace

TEST_CASE("a completion offers no name that is written in another way", "[process][list]") {
  Completion shell;
  for (const char* const name : {"jobs", "two\nlines", "back\\slash", "my jobs"}) {
    REQUIRE(shell.status({"run", name, "true"}) == 0);
  }
  CHECK(shell.offered("distlock status ") == "jobs\nmy\\ jobs\nother\n");
}

TEST_CASE("a completion reads words in quotes as the shell does", "[process][list]") {
  Completion shell;
  REQUIRE(shell.status({"run", "my jobs", "true"}) == 0);
  CHECK(shell.offered("distlock run --why \"nightly backup\" ") == "my\\ jobs\nother\n");
  CHECK(shell.offered("distlock run --why nightly\\ backup o") == "other\n");
  CHECK(shell.offered("distlock run -nw 5 o") == "other\n");
  CHECK(shell.offered("distlock status my\\ j") == "my\\ jobs\n");
  CHECK_THAT(shell.offered("distlock run \"my jobs\" tru"), Catch::Contains("true\n"));
  CHECK(shell.offered("distlock run --on-loss=k") == "kill\n");
  CHECK(shell.offered("distlock break my\\ jobs --y") == "--yes\n");
  CHECK(shell.offered("distlock run other true --w") == "\n");
}

TEST_CASE("a completion offers no name that would be an option", "[process][list]") {
  Completion shell;
  for (const char* const name : {"a-b", "--yes", "-q"}) {
    REQUIRE(shell.status({"run", "--", name, "true"}) == 0);
  }
  CHECK(shell.offered("distlock break ") == "a-b\nother\n");
}

TEST_CASE("a completion offers the locks of the store that the line names", "[process][list]") {
  Completion shell;
  const std::string file = shell.folder.path() / "uri";
  std::ofstream(file) << "sqlite:" << (shell.folder.path() / "second.db").string() << '\n';
  REQUIRE(shell.status({"run", "--uri-file", file, "theirs", "true"}) == 0);
  const std::string verb = GENERATE("run", "status", "list", "break");
  CHECK(shell.offered("distlock " + verb + " ") == "other\n");
  CHECK(shell.offered("distlock " + verb + " --uri-file=" + file + " ") == "theirs\n");
  CHECK(shell.offered("distlock " + verb + " --uri-file " + file + " ") == "theirs\n");
  CHECK(shell.offered("distlock " + verb + " --uri=memory: ") == "\n");
}

TEST_CASE("a completion offers numbers for the member to readmit", "[process]") {
  Completion shell;
  CHECK(shell.offered("distlock readmit ") == "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  CHECK(shell.offered("distlock readmit --yes 3") == "3\n");
  CHECK(shell.offered("distlock readmit 3 ") == "\n");
}

TEST_CASE("a completion offers locks behind --wait of break, which takes no value",
          "[process][list]") {
  Completion shell;
  REQUIRE(shell.status({"run", "jobs", "true"}) == 0);
  CHECK(shell.offered("distlock break --wait ") == "jobs\nother\n");
  CHECK(shell.offered("distlock run --wait ") == "\n");
}

TEST_CASE("a completion offers the loss policies that run takes", "[process]") {
  Completion shell;
  CHECK(shell.offered("distlock run --on-loss ") == "term\nkill\nignore\n");
  for (const std::string policy : {"term", "kill", "ignore"})
    CHECK(shell.status({"run", "--on-loss", policy, "jobs", "--", "true"}) == 0);
}
