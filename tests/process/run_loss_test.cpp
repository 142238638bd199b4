#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>

#include "process/stamps.h"
#include "process/stop_at_rest.h"
#include "process/tool_fixture.h"

using namespace distlock::testing;
using Words = ToolFixture::Words;

namespace {

std::string message_with(ToolProcess& tool, const std::string& text) {
  std::string line;
  while (line.find(text) == std::string::npos) line = tool.next_message();
  return line;
}

/// Whether something goes on to write stamps after that time.
bool stamps_after(ToolProcess& tool, double time) {
  try {
    while (std::stod(tool.next_output()) <= time + kTick) {
    }
    return true;
  } catch (const std::runtime_error&) {
    return false;  // Nobody is left to write.
  }
}

/// The triggers of a SQLite file.
const std::string kCountPingsSinceBreak = R"(
    CREATE TABLE since_break(count);
    CREATE TRIGGER broken AFTER UPDATE ON locks WHEN new.state = 0
      BEGIN INSERT INTO since_break VALUES(0); END;
    CREATE TRIGGER pinged AFTER UPDATE ON lockpings
      BEGIN UPDATE since_break SET count = count + 1; END)";

const Words kShort{"--takeover-after", "8s"};

/// Gets the lock as soon as it can, and says when its command ran.
std::unique_ptr<ToolProcess> rival_of(const ToolFixture& fixture) {
  return fixture.start(run({"-w", "100s", "--takeover-after", "8s"}, kStamp));
}

}  // namespace

TEST_CASE("a command is told until when its hold is valid", "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  const double before = now();
  REQUIRE(fixture.status(run(kShort, "echo $DISTLOCK_VALID_UNTIL")) == 0);
  const double valid_until = std::stod(fixture.output);
  CHECK(valid_until > before);
  CHECK(valid_until < now() + kValidFor);
}

TEST_CASE("a command may outlast its first lease", "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  CHECK(fixture.status(run({"--takeover-after", "8s"}, "sleep 9; exit 7")) == 7);
  CHECK(fixture.messages.empty());
}

TEST_CASE("break ends the command within a ping's interval, with 75", "[process][run][break][R9]") {
  ToolFixture fixture;
  const auto holder =
      fixture.start(run({"--takeover-after", "60s", "--ping-every", "8s"},
                        "trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
  REQUIRE(holder->next_output() == "ready");
  fixture.change(kCountPingsSinceBreak);
  REQUIRE(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK(holder->next_output() == "told");
  CHECK(holder->wait() == 75);
  // The next one shows the loss. One more goes out if the machine stands still meanwhile.
  CHECK(SqliteFile(fixture.file().string()).integer("SELECT count FROM since_break") <= 2);
  const std::string messages = holder->rest_of_messages();
  CHECK_THAT(messages, Catch::Contains("lost jobs while the command ran: freed"));
  INFO(messages);  // At once, and at the command's end; the shell says a word of its own.
  int lines = 0;
  for (auto at = messages.find("distlock: "); at != messages.npos; ++lines) {
    at = messages.find("distlock: ", at + 1);
  }
  CHECK(lines == 2);
}

TEST_CASE("a lock freed by hand in a malformed document ends its command with 75",
          "[process][run][break][R9][R14]") {
  ToolFixture fixture;
  const auto holder = fixture.start(
      run({"--takeover-after", "60s", "--ping-every", "1s"}, "echo ready; exec sleep 1000"));
  REQUIRE(holder->next_output() == "ready");
  fixture.change("UPDATE locks SET state = 0, fence = 'spoilt' WHERE _id = 'jobs'");
  CHECK(holder->wait() == 75);
  CHECK_THAT(holder->rest_of_messages(), Catch::Contains("lost jobs while the command ran: freed"));
}

TEST_CASE("a command that ignores SIGTERM is killed after the grace",
          "[process][run][break][unsanitized][R9]") {
  ToolFixture fixture;
  const auto holder = fixture.start(run(
      {"--takeover-after", "60s", "--ping-every", "200ms", "--grace", "300ms"}, stamping("''")));
  REQUIRE_FALSE(holder->next_output().empty());
  REQUIRE(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK(holder->wait() == 75);
  CHECK_THAT(holder->rest_of_messages(), Catch::Contains("; sh was ended by SIGKILL\n"));
}

TEST_CASE("a loss ends also those that have left the command's group",
          "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  const std::string stubborn = stamping("''");
  const auto holder = fixture.start(
      run({"--takeover-after", "2s", "--grace", "100ms"},
          "(setsid sh -c '" + stamping("") + "' &); (" + stubborn + ") & " + stubborn));
  REQUIRE_FALSE(holder->next_output().empty());
  REQUIRE(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK(holder->wait() == 75);
  // Ends when the last of them has.
  CHECK_FALSE(holder->rest_of_output().empty());
}

TEST_CASE(
    "after a loss also one that has left the command's group, and stands still, has its grace",
    "[process][run][break][R9]") {
  ToolFixture fixture;
  const auto holder = fixture.start(
      run({"--takeover-after", "120s", "--ping-every", "2s", "--grace", "30s"},
          "setsid sh -c 'trap \"echo told; exit 0\" TERM; kill -STOP $$; sleep 100' & "
          "until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; echo ready; wait"));
  REQUIRE(holder->next_output() == "ready");
  REQUIRE(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK(holder->next_output() == "told");
  CHECK(holder->wait() == 75);
}

TEST_CASE("the processes that a command has started are gone when its tool says 75",
          "[process][run][break][unsanitized][R9]") {
  ToolFixture fixture;
  const auto holder =
      fixture.start(run({"--takeover-after", "60s", "--ping-every", "200ms", "--grace", "500ms"},
                        "(" + stamping("''") + ") & " + stamping("'exit 0'") + " >/dev/null"));
  REQUIRE_FALSE(holder->next_output().empty());
  REQUIRE(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK(holder->wait() == 75);
  CHECK_FALSE(stamps_after(*holder, now()));
}

TEST_CASE("while the store is away the command ends before the deadline, and a rival follows",
          "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  const std::string trap = GENERATE("''", "'exit 0'");
  const auto holder = fixture.start(run(kShort, stamping(trap)));
  REQUIRE_FALSE(holder->next_output().empty());
  SqliteFile elsewhere(fixture.file().string());
  elsewhere.execute("BEGIN IMMEDIATE");
  const double last_ping_at_most = now();
  const auto rival = rival_of(fixture);

  message_with(*holder, "drew near");
  elsewhere.execute("ROLLBACK");
  CHECK(holder->wait() == 75);
  const double last = last_stamp(holder->rest_of_output());
  CHECK(last + kTick < last_ping_at_most + kValidFor);
  CHECK(rival->wait() == 0);
  CHECK(last_stamp(rival->rest_of_output()) >= last);  // A tick may count for both.
}

TEST_CASE("a ping that fails again and again is one line", "[process][run][unsanitized]") {
  ToolFixture fixture;
  const auto holder = fixture.hold({"--takeover-after", "2s", "--ping-every", "20ms"});
  std::filesystem::remove(fixture.file());
  CHECK(holder->wait() == 75);
  std::istringstream messages(holder->rest_of_messages());
  int failures = 0;
  for (std::string line; std::getline(messages, line);) {
    if (line.find("ping failed") != line.npos) ++failures;
  }
  CHECK(failures == 1);
}

TEST_CASE("a command ends before a rival's begins although its parent is stopped",
          "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  const auto holder = fixture.start(run(kShort, stamping("''")));
  REQUIRE_FALSE(holder->next_output().empty());
  stop_at_rest(*holder, fixture.file());
  const double stopped = now();
  const auto rival = rival_of(fixture);
  CHECK(rival->wait() == 0);
  const double begun = last_stamp(rival->rest_of_output());

  holder->send(SIGCONT);
  CHECK(holder->wait() == 75);
  CHECK_THAT(holder->rest_of_messages(), Catch::Contains("lost jobs while the command ran"));
  const double last = last_stamp(holder->rest_of_output());
  CHECK(last + kTick < stopped + kValidFor);
  CHECK(begun >= last);
}

TEST_CASE("a stop that is shorter than the lease costs nothing", "[process][run][R9]") {
  ToolFixture fixture;
  const auto holder = fixture.hold({"--takeover-after", "60s"});
  stop_at_rest(*holder, fixture.file());
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 1);
  holder->send(SIGCONT);
  holder->close_input();
  CHECK(holder->wait() == 0);
}

TEST_CASE("with --on-loss ignore the command goes on, and run exits with 75",
          "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  const auto holder =
      fixture.start(run({"--takeover-after", "2s", "--on-loss", "ignore"},
                        "trap 'echo told' TERM; echo ready; read line; echo done; exit 0"));
  REQUIRE(holder->next_output() == "ready");
  REQUIRE(fixture.status({"break", "--yes", "jobs"}) == 0);
  message_with(*holder, "lost");
  holder->close_input();
  CHECK(holder->wait() == 75);
  CHECK(holder->rest_of_output() == "done\n");
}

TEST_CASE("with --on-loss kill there is no grace", "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  const auto holder =
      fixture.start(run({"--takeover-after", "2s", "--on-loss", "kill"},
                        "trap 'echo told' TERM; echo ready; while :; do sleep 0.01; done"));
  REQUIRE(holder->next_output() == "ready");
  REQUIRE(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK(holder->wait() == 75);
  CHECK(holder->rest_of_output().empty());
}

TEST_CASE("the command's whole group dies with the tool", "[process][run]") {
  ToolFixture fixture;
  const auto holder = fixture.start(run({}, stamping("''") + " & " + stamping("''")));
  REQUIRE_FALSE(holder->next_output().empty());
  holder->send(SIGKILL);
  CHECK(holder->wait() == 128 + SIGKILL);
  // Ends when the last of them has.
  CHECK(holder->rest_of_messages().empty());
}

TEST_CASE("a grace that leaves no room, or an unknown loss policy, is 64", "[process][run]") {
  ToolFixture fixture;
  CHECK(fixture.status(run({"--takeover-after", "2s", "--grace", "1s"}, "true")) == 64);
  CHECK_THAT(fixture.messages, Catch::Contains("--grace 1s + margin 125ms"));
  CHECK(fixture.status(run({"--on-loss", "cry"}, "true")) == 64);
}

TEST_CASE("a tool whose messages nobody reads pings on, and ends with its command",
          "[process][run][log][unsanitized][R12]") {
  ToolFixture fixture;
  const auto full = ToolProcess::Messages::in_a_full_pipe;
  ToolProcess holder(
      run({"-v", "--takeover-after", "60s", "--ping-every", "100ms"}, "echo ready; exec cat"),
      fixture.environment(), full);
  REQUIRE(holder.next_output() == "ready");
  SqliteFile file(fixture.file().string());
  while (file.integer("SELECT max(ping_successes) FROM lockpings") < 20) std::this_thread::yield();
  CHECK(fixture.status({"run", "-n", "--takeover-after", "60s", "jobs", "--", "true"}) == 1);
  holder.send(SIGTERM);
  CHECK(holder.wait() == 128 + SIGTERM);
}

TEST_CASE("a tool that fails ends although nobody reads why", "[process][run][log]") {
  ToolFixture fixture;
  const auto full = ToolProcess::Messages::in_a_full_pipe;
  for (const auto& [uri, status] : {std::pair{"nfs:x", 64}, {"mongodb://127.0.0.1:1/", 69}}) {
    ToolProcess tool({"run", "-n", "--uri", uri, "--takeover-after", "2s", "jobs", "--", "true"},
                     fixture.environment(), full);
    CHECK(tool.wait() == status);
  }
}

TEST_CASE("the messages of a tool come whole once somebody reads them", "[process][run][log]") {
  ToolFixture fixture;
  const auto messages = GENERATE(ToolProcess::Messages::in_a_full_pipe,
                                 ToolProcess::Messages::in_a_full_pipe_that_refuses);
  ToolProcess tool(run({"-v"}, "echo ready; exec cat"), fixture.environment(), messages);
  REQUIRE(tool.next_output() == "ready");
  // At its end the tool waits a second at most for its reader, so the pipe has to be empty by then.
  std::string all;
  while (all.find("distlock: holding") == std::string::npos) all += tool.next_message() + '\n';
  tool.close_input();
  all += tool.rest_of_messages();
  CHECK(tool.wait() == 0);
  // The library's records come by way of a thread, and so before or after it.
  CHECK_THAT(all, Catch::Contains("-distlock: "));
  CHECK_THAT(all, Catch::Contains("-distlock: holding jobs, fence 1\n") ||
                      Catch::Contains("\ndistlock: holding jobs, fence 1\n"));
  const auto acquired = all.find("dist_lock acquired");
  const auto unlocked = all.find("dist_lock unlock: \"jobs\"");
  REQUIRE(unlocked != std::string::npos);
  CHECK(acquired < unlocked);
}
