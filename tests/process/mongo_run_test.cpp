#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

#include "mongo/faults.h"
#include "process/jumping_clock.h"
#include "process/stamps.h"
#include "process/tool_process.h"

using namespace distlock::testing;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

namespace {

/// A database of its own, and tools that use it.
struct MongoFixture {
  explicit MongoFixture(const std::string& uri) : server(uri) {}

  ToolProcess::Environment environment() const {
    return {{"HOME", folder.path().string()}, {"DISTLOCK_URI", server.connection().text()}};
  }
  std::unique_ptr<ToolProcess> start(const Words& words,
                                     const std::vector<int>& closed = {}) const {
    const auto messages = ToolProcess::Messages::read;
    return std::make_unique<ToolProcess>(words, environment(), messages, closed);
  }

  TemporaryFolder folder;
  Server server;
};

/// How many clients have ended their sessions on this server.
std::int64_t partings(const Server& server) {
  const distlock::Bson status = server.admin(json(R"({"serverStatus": 1})"));
  bson_iter_t all;
  bson_iter_t found;
  REQUIRE(bson_iter_init(&all, status.get()));
  REQUIRE(bson_iter_find_descendant(&all, "metrics.commands.endSessions.total", &found));
  return bson_iter_as_int64(&found);
}

}  // namespace

TEST_CASE("a call of the tool ends its sessions, and waits for none of the driver's threads",
          "[mongo][run]") {
  const MongoFixture fixture(standalone_uri());
  const auto time_of = [&](const Words& words) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(fixture.start(words)->wait() == 0);
    return std::chrono::steady_clock::now() - begin;
  };
  for (const Words& words : {Words{"list"}, run({"-n"}, "true")}) {
    std::int64_t before = partings(fixture.server);
    // The driver's threads take at least half a second. A machine that is slow now and then takes
    // it too, and one that is always slow takes long for any process.
    auto shortest = time_of(words);
    auto of_any_process = time_of({"--version"});
    // A call of a machine that is busy may leave before its good-bye is sent.
    for (int calls = 1; calls < 40 && partings(fixture.server) == before; ++calls) {
      before = partings(fixture.server);
      shortest = std::min(shortest, time_of(words));
    }
    CHECK(partings(fixture.server) > before);
    for (int calls = 1; calls < 40 && shortest >= of_any_process + 400ms; ++calls) {
      shortest = std::min(shortest, time_of(words));
      of_any_process = std::min(of_any_process, time_of({"--version"}));
    }
    CHECK(shortest < of_any_process + 400ms);
  }
}

TEST_CASE(
    "on MongoDB a tool whose standard streams are closed sends nothing of theirs to the server",
    "[mongo][run][break]") {
  const MongoFixture fixture(standalone_uri());
  CHECK(fixture.start(run({"-n"}, "true"))->wait() == 0);
  CHECK(fixture.start({"list"}, {1})->wait() == 74);
  const auto holder = fixture.start(run({}, "echo ready; exec cat"));
  REQUIRE(holder->next_output() == "ready");
  CHECK(fixture.start({"break", "--yes", "jobs"}, {0, 1, 2})->wait() == 0);
  CHECK(holder->wait() == 75);
}

TEST_CASE("while mongod does not answer the command ends before the deadline, and a rival follows",
          "[mongo][run][R9]") {
  const MongoFixture fixture(standalone_uri());
  const auto holder = fixture.start(run({"--takeover-after", "8s"}, stamping("''")));
  REQUIRE_FALSE(holder->next_output().empty());
  Stopped server(ports_of(standalone_uri()).at(0));
  const double last_ping_at_most = now();
  CHECK(holder->wait() == 75);
  const double last = last_stamp(holder->rest_of_output());
  CHECK(last + kTick < last_ping_at_most + kValidFor);
  server.go_on();
  const auto rival = fixture.start(run({"-w", "100s", "--takeover-after", "8s"}, kStamp));
  CHECK(rival->wait() == 0);
  CHECK(last_stamp(rival->rest_of_output()) >= last);  // A tick may count for both.
}

TEST_CASE("a command outlives a fail-over that is shorter than its lease", "[mongo][run][R9]") {
  wait_until_whole(replica_set_uri());
  const MongoFixture fixture(replica_set_uri());
  const auto holder = fixture.start(run({"--takeover-after", "120s", "--ping-every", "200ms"},
                                        "echo ready; read line; echo done"));
  REQUIRE(holder->next_output() == "ready");
  const auto ports = ports_of(replica_set_uri());
  const int before = primary_among(ports);
  {
    const Stopped primary(before);
    elect_among(without(ports, before));
    const auto rival = fixture.start(run({"-n", "--takeover-after", "120s"}, "true"));
    CHECK(rival->wait() == 1);
  }
  holder->close_input();
  CHECK(holder->next_output() == "done");
  CHECK(holder->wait() == 0);
  wait_until_whole(replica_set_uri());
}

TEST_CASE("on MongoDB, too, a wall clock that jumps by hours gives no hold away",
          "[mongo][run][R5][R9]") {
  const MongoFixture fixture(standalone_uri());
  JumpingClock clock(Jumping::wall_clock);
  const auto start = [&](const Words& options, const std::string& script) {
    Words lease{"--takeover-after", "60s", "--ping-every", "200ms"};
    lease.insert(lease.end(), options.begin(), options.end());
    return std::make_unique<ToolProcess>(run(lease, script), clock.added_to(fixture.environment()));
  };
  const auto holder = start({}, "echo ready; read line; echo done");
  REQUIRE(holder->next_output() == "ready");
  const auto waiting = start({"-w", "100s"}, "echo mine");
  for (const char* offset : {"+5h", "-5h"}) {
    clock.jump(offset);
    CHECK(start({"-w", "1s"}, "true")->wait() != 0);
  }
  holder->close_input();
  CHECK(holder->next_output() == "done");
  CHECK(holder->wait() == 0);
  CHECK(waiting->wait() == 0);
}
