// A tool that is started with some of its standard streams closed.
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <thread>

#include "process/stamps.h"
#include "process/stop_at_rest.h"
#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

const std::vector<std::vector<int>> kClosed{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::unique_ptr<ToolProcess> start(const ToolFixture& fixture, const ToolFixture::Words& words,
                                   const std::vector<int>& closed) {
  const auto messages = ToolProcess::Messages::read;
  return std::make_unique<ToolProcess>(words, fixture.environment(), messages, closed);
}

/// The status of a tool whose messages go to a pipe without a reader.
int status_unread(ToolFixture& fixture, const std::string& words) {
  const std::string pipe = (fixture.folder.path() / "pipe").string();
  const std::string shell = "mkfifo " + pipe + "; exec 3<>" + pipe + " 4>" + pipe + "; exec 3<&-; ";
  return fixture.status({"run", "other", "--", "sh", "-c", shell + tool_path() + words + " 2>&4"});
}

}  // namespace

TEST_CASE("a command finds those standard streams closed that the tool found closed",
          "[process][run]") {
  for (const auto& closed : kClosed) {
    ToolFixture fixture;
    const auto found = fixture.folder.path() / "found";
    const std::string look =
        "l=; for n in 0 1 2; do [ -e /proc/$$/fd/$n ] || l=$l$n; done; echo -n $l >" +
        found.string();
    CHECK(start(fixture, run({"-v"}, look), closed)->wait() == 0);
    std::string expected;
    for (const int stream : closed) expected += std::to_string(stream);
    CHECK(text_of(found) == expected);
  }
}

TEST_CASE("no socket of a tool gets the number of a closed standard stream", "[process][run][R9]") {
  for (const auto& closed : kClosed) {
    ToolFixture fixture;
    const auto found = fixture.folder.path() / "found";
    std::string look;
    for (const int stream : closed) {
      look += "readlink /proc/$PPID/fd/" + std::to_string(stream) + " >>" + found.string() + "; ";
    }
    CHECK(start(fixture, run({}, look), closed)->wait() == 0);
    const std::string names = text_of(found);
    CHECK_THAT(names, !Catch::Contains(":") && Catch::EndsWith("\n"));
  }
}

TEST_CASE("a run with closed standard streams keeps its keeper: a rival's command begins after",
          "[process][run][unsanitized][R9]") {
  const std::vector<int> closed = GENERATE(std::vector{0, 2}, std::vector{1, 2});
  ToolFixture fixture;
  const auto stamps = fixture.folder.path() / "stamps";
  const auto holder = start(
      fixture,
      run({"-v", "--takeover-after", "8s"}, "exec >" + stamps.string() + "; " + stamping("''")),
      closed);
  while (last_stamp(text_of(stamps)) == 0) std::this_thread::yield();
  stop_at_rest(*holder, fixture.file());
  const auto rival = fixture.start(run({"-w", "100s", "--takeover-after", "8s"}, kStamp));
  CHECK(rival->wait() == 0);
  const double begun = last_stamp(rival->rest_of_output());
  CHECK(begun >= last_stamp(text_of(stamps)));  // A tick may count for both.
  holder->send(SIGCONT);
  CHECK(holder->wait() == 75);
}

TEST_CASE("output to a closed stream is 74, and goes nowhere else", "[process][list]") {
  ToolFixture fixture;
  REQUIRE(fixture.status(run({}, "true")) == 0);
  for (const auto& closed : kClosed) {
    const bool can_write = closed.front() != 1 && closed.back() != 1 && closed.size() < 3;
    CHECK(start(fixture, {"list"}, closed)->wait() == (can_write ? 0 : 74));
  }
  CHECK(fixture.status({"list", "--names"}) == 0);
  CHECK(fixture.output == "jobs\n");
}

TEST_CASE("break frees the hold also where nobody reads its messages", "[process][break]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  CHECK(status_unread(fixture, " break --yes jobs") == 0);
  CHECK(fixture.status({"status", "jobs"}) == 0);
  CHECK_THAT(fixture.output, Catch::StartsWith("jobs: free"));
}

TEST_CASE("readmit takes the member back also where nobody reads its messages",
          "[process][readmit][M6]") {
  ToolFixture fixture;
  const std::string in = fixture.folder.path().string();
  const std::string uri = "mirrored+sqlite:" + in + "/a," + in + "/b," + in + "/c";
  REQUIRE(fixture.status({"run", "--uri", uri, "jobs", "--", "true"}) == 0);
  REQUIRE(std::filesystem::remove(in + "/b"));
  const std::string words = " readmit --yes 2 --uri " + uri;
  CHECK(status_unread(fixture, words) == 0);
  CHECK(fixture.status({"readmit", "--yes", "2", "--uri", uri}) == 0);
  CHECK_THAT(fixture.messages, Catch::Contains("counts already"));
}
