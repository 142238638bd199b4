// The descriptors of the tool: those that a command inherits, and which of
// the standard streams are asked whether they are a terminal.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "process/on_terminal.h"
#include "process/stamps.h"
#include "process/tool_fixture.h"

using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

std::string in_quotes(const std::string& word) { return '\'' + word + '\''; }

/// A shell on a terminal that runs the tool with these words and redirections, and then says "end"
/// and the status.
OnTerminal on_terminal(const ToolFixture& fixture, const std::string& words) {
  const std::string uri = "DISTLOCK_URI=sqlite:" + fixture.file().string();
  return OnTerminal(
      {"/bin/sh", "-c", uri + ' ' + in_quotes(tool_path()) + ' ' + words + "; echo end $?"});
}

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Whether whatever this process starts has it.
bool is_inherited_here(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

}  // namespace

TEST_CASE("a command inherits of the tool a descriptor of the witness and no other",
          "[process][run][R23]") {
  ToolFixture fixture;
  // The shell is there until `find` has ended, and opens nothing.
  const std::string look = "find /proc/$$/fd -type l -printf '%f %l\\n'; true";
  REQUIRE(fixture.status(run({}, look)) == 0);
  std::istringstream lines(fixture.output);
  std::vector<std::string> inherited;
  int number = -1;
  for (std::string target; lines >> number && std::getline(lines >> std::ws, target);) {
    if (number > 2 && !is_inherited_here(number)) inherited.push_back(target);
  }
  CHECK(inherited == std::vector{fixture.file().string() + "-witness"});
}

TEST_CASE("a command stays in the tool's group where any standard stream is a terminal",
          "[process][run]") {
  const std::string redirected = GENERATE("</dev/null 2>/dev/null", "</dev/null", "");
  const bool with_output = redirected.empty();
  ToolFixture fixture;
  const auto found = fixture.folder.path() / "found";
  const std::string script =
      "read a b c d own rest </proc/$$/stat; read a b c d its rest </proc/$PPID/stat; "
      "echo $own $its >" +
      found.string();
  const std::string output = with_output ? "" : " >/dev/null";
  OnTerminal shell = on_terminal(
      fixture, "run jobs -- sh -c " + in_quotes(script) + ' ' + redirected +
                   (redirected.find("2>") == std::string::npos ? output : std::string()));
  REQUIRE(shell.shows("end 0", 120s));
  std::istringstream groups(content_of(found));
  int own = 0;
  int its = 0;
  groups >> own >> its;
  CHECK(own > 0);
  CHECK(own == its);
}

TEST_CASE("a list that is not for a terminal has no colours, whatever its messages are for",
          "[process][list]") {
  ToolFixture fixture;
  REQUIRE(fixture.status(run({}, "true")) == 0);
  OnTerminal coloured = on_terminal(fixture, "list");
  REQUIRE(coloured.shows("end 0", 120s));
  CHECK_THAT(coloured.shown(), Catch::Contains("\033[1m"));
  const auto file = fixture.folder.path() / "list";
  OnTerminal plain = on_terminal(fixture, "list >" + file.string());
  REQUIRE(plain.shows("end 0", 120s));
  CHECK_THAT(content_of(file), Catch::Contains("jobs") && !Catch::Contains("\033"));
}

TEST_CASE("break asks where its answers come from, and not where its messages go",
          "[process][break]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  OnTerminal shell = on_terminal(fixture, "break jobs </dev/null");
  REQUIRE(shell.shows("end 64", 120s));
  CHECK_THAT(shell.shown(), Catch::Contains("give --yes") && !Catch::Contains("[y/N]"));
}

TEST_CASE("a watch draws in place on a terminal that does not say its size", "[process][list]") {
  ToolFixture fixture;
  REQUIRE(fixture.status(run({}, "true")) == 0);
  OnTerminal watch({tool_path(), "list", "--watch", "--uri=sqlite:" + fixture.file().string()});
  CHECK(watch.shows("\033[H", 120s));
}

TEST_CASE("output that cannot be written is 74", "[process]") {
  ToolFixture fixture;
  CHECK(fixture.status({"--version"}) == 0);
  CHECK_THAT(fixture.output, Catch::StartsWith("distlock "));
  CHECK(fixture.status({"--help"}) == 0);
  CHECK_THAT(fixture.output, Catch::Contains("run"));
  CHECK(fixture.messages.empty());
  for (const char* words : {" --version", " --help", " role", " list", " list --watch"}) {
    const std::string command = tool_path() + words + " >/dev/full";
    CHECK(fixture.status({"run", "jobs", "--", "sh", "-c", command}) == 74);
    CHECK_THAT(fixture.messages, Catch::Contains("cannot write to standard output"));
  }
}

TEST_CASE("a tool without room in a file for its output says 74", "[process]") {
  ToolFixture fixture;
  // Not a limit of 0: ThreadSanitizer writes a file of its own before any of our code runs.
  constexpr auto kMostBytes = std::uintmax_t{16} << 20U;
  const std::string file = fixture.folder.path() / "output";
  std::ofstream{file}.close();
  std::filesystem::resize_file(file, kMostBytes);
  const std::string shell = "ulimit -f " + std::to_string(kMostBytes / 512) + "; exec " +
                            in_quotes(tool_path()) + " --version >>" + in_quotes(file);
  CHECK(fixture.status({"run", "jobs", "--", "sh", "-c", shell}) == 74);
  CHECK_THAT(fixture.messages, Catch::Contains("cannot write to standard output"));
}

TEST_CASE("a look on a terminal has no colours where they were not wanted", "[process][list]") {
  ToolFixture fixture;
  REQUIRE(fixture.status(run({}, "true")) == 0);
  const std::string words = GENERATE("list --no-color", "status jobs --no-color");
  OnTerminal plain = on_terminal(fixture, words);
  REQUIRE(plain.shows("end 0", 120s));
  CHECK_THAT(plain.shown(), Catch::Contains("jobs") && !Catch::Contains("\033"));
}
