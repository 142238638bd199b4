// Several `distlock run` that wait for one lock.
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "process/tool_fixture.h"
#include "support/once_of_six.h"

using namespace distlock::testing;

namespace {

nlohmann::json line_of(ToolFixture& fixture) {
  REQUIRE(fixture.status({"status", "jobs", "--json"}) == 0);
  return nlohmann::json::parse(fixture.output)["locks"][0]["line"];
}

/// In which order three that come one after the other, and wait for long, get the lock.
std::string order_of_three() {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  std::vector<std::unique_ptr<ToolProcess>> waiters;
  const std::string order = (fixture.folder.path() / "order").string();
  for (const std::string number : {"1", "2", "3"}) {
    waiters.push_back(
        fixture.start({"run", "jobs", "sh", "-c", "echo " + number + " >> " + order}));
    while (line_of(fixture).size() < waiters.size()) continue;
  }
  const nlohmann::json came = line_of(fixture);
  // All have waited for longer than it takes before a wait is told.
  nlohmann::json line = came;
  while (line.size() == 3 && line.back()["waiting_ms"] < 800) line = line_of(fixture);
  REQUIRE(line.size() == 3);
  for (std::size_t place = 0; place < 3; ++place) {
    CHECK(line.at(place)["ticket"] == came.at(place)["ticket"]);
  }
  holder->close_input();
  for (const auto& waiter : waiters) CHECK(waiter->wait() == 0);
  std::ostringstream said;
  said << std::ifstream(order).rdbuf();
  return said.str();
}

}  // namespace

TEST_CASE("runs that wait get the lock in the order in which they came, however long they waited",
          "[process][run][R17]") {
  const std::string came = "1\n2\n3\n";
  CHECK(once_of_six(came, order_of_three) == came);
}

TEST_CASE("a child that ends does not end the wait of a run", "[process][run][R15]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  const auto waiter = fixture.start({"run", "-v", "jobs", "--", "echo", "mine"});
  waiter->next_message();
  waiter->send(SIGCHLD);
  holder->close_input();
  CHECK(waiter->next_output() == "mine");
  CHECK(waiter->wait() == 0);
}
