#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "support/temporary_folder.h"

using distlock::testing::TemporaryFolder;

namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Output {
  int status;
  std::string out;
  std::string err;
};

/// The output of a program that logs in that way; it is killed if it does not end.
Output output_of(const std::string& way) {
  const TemporaryFolder folder;
  const auto out = folder.path() / "out";
  const auto err = folder.path() / "err";
  const std::string command = "timeout -s KILL 120 " DISTLOCK_LOG_PROGRAM " " + way + " >'" +
                              out.string() + "' 2>'" + err.string() + "'";
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), content(out), content(err)};
}

const std::string kWarning =
    "dist_lock unlock: \"jobs\" is not ours any more; nothing was changed [memory:]\n";

}  // namespace

TEST_CASE("a program without a sink gets warnings on standard error and nothing else",
          "[process][log]") {
  const std::string way = GENERATE("no-sink", "quick");
  const Output output = output_of(way);
  CHECK(output.status == 0);
  CHECK(output.out.empty());
  CHECK(output.err == "distlock warning: " + kWarning);
}

TEST_CASE("without a sink a warning that comes 20 times at once is written once",
          "[process][log]") {
  CHECK(output_of("repeatedly").err == "distlock warning: " + kWarning);
}

TEST_CASE("without a sink the program's level holds on standard error", "[process][log]") {
  CHECK(output_of("level-error").err == "");
  const Output all = output_of("level-debug");
  CHECK(all.out.empty());
  CHECK_THAT(all.err, Catch::Contains("distlock debug: dist_lock acquired") &&
                          Catch::Contains("distlock warning: " + kWarning));
}

TEST_CASE("a program that has switched Boost.Log off gets nothing", "[process][log]") {
  const Output output = output_of("no-logging");
  CHECK(output.out.empty());
  CHECK(output.err.empty());
}

TEST_CASE("a program's sink gets every record, and standard error none", "[process][log]") {
  const Output output = output_of("own-sink");
  CHECK_THAT(output.out, Catch::Contains("distlock| dist_lock acquired") &&
                             Catch::Contains("distlock| " + kWarning));
  CHECK(output.err.empty());
}

TEST_CASE("a program ends although its sink blocks for ever", "[process][log][exit]") {
  CHECK(output_of("stuck-sink").status == 0);
}

TEST_CASE("a program's end waits for a sink that is slow", "[process][log][exit]") {
  CHECK_THAT(output_of("slow-sink").out, Catch::Contains("distlock| " + kWarning));
}

TEST_CASE("a program's own record comes once without a sink, whatever the library logs",
          "[process][log][threads]") {
  const Output output = output_of("besides");
  CHECK(output.status == 0);
  std::istringstream lines(output.out);
  int next = 0;
  for (std::string line; std::getline(lines, line); ++next) {
    CHECK_THAT(line, Catch::EndsWith("own " + std::to_string(next) + " end"));
  }
  CHECK(next == 5000);
}
