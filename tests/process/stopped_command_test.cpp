// A command of `distlock run` that stands still: it has stopped itself, or the terminal has.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

void wait_until_stopped(const std::string& process) {
  std::string id;
  std::string name;
  std::string state;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  for (; state != "T"; std::this_thread::yield()) {
    REQUIRE(std::chrono::steady_clock::now() < until);
    std::ifstream("/proc/" + process + "/stat") >> id >> name >> state;
  }
}

}  // namespace

TEST_CASE("a signal ends a command that is stopped", "[process][run]") {
  const ToolFixture fixture;
  const int signal = GENERATE(SIGTERM, SIGINT, SIGHUP);
  const auto run = fixture.start({"run", "jobs", "--", "sh", "-c", "echo $$; kill -STOP $$; cat"});
  wait_until_stopped(run->next_output());
  run->send(signal);
  CHECK(run->wait() == 128 + signal);
}
