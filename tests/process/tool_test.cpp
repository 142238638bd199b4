#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "process/tool_fixture.h"

namespace fs = std::filesystem;
using namespace distlock::testing;
using Words = ToolFixture::Words;

TEST_CASE("run gives the command's status, output and input", "[process][run]") {
  ToolFixture fixture;
  CHECK(fixture.status(
            {"run", "jobs", "--", "sh", "-c", "echo $DISTLOCK_NAME $DISTLOCK_FENCE; exit 3"}) == 3);
  CHECK(fixture.output == "jobs 1\n");
  CHECK(fixture.messages.empty());
  CHECK(fixture.status({"run", "jobs", "sh", "-c", "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(fixture.output == "2\n");
}

TEST_CASE("a command that a signal ends is 128 and its number", "[process][run]") {
  ToolFixture fixture;
  CHECK(fixture.status({"run", "jobs", "--", "sh", "-c", "kill -9 $$"}) == 128 + SIGKILL);
  CHECK_THAT(fixture.messages, Catch::Contains("was ended by"));
}

TEST_CASE("a command that is not there is 127, one not executable 126", "[process][run]") {
  ToolFixture fixture;
  CHECK(fixture.status({"run", "jobs", "--", "no-such-command"}) == 127);
  CHECK_THAT(fixture.messages, Catch::Contains("cannot run no-such-command"));
  const fs::path plain = fixture.folder.path() / "plain";
  std::ofstream(plain) << "echo\n";
  CHECK(fixture.status({"run", "jobs", "--", plain.string()}) == 126);
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 0);
}

TEST_CASE("a lock that stays busy is 1, or the status of -E", "[process][run]") {
  ToolFixture fixture;
  const auto holder = fixture.hold({"--why", "the long job"});
  CHECK(fixture.status({"run", "-n", "jobs", "--", "echo", "ran"}) == 1);
  CHECK_THAT(fixture.messages,
             Catch::Contains("jobs is held by") && Catch::Contains("the long job"));
  CHECK(fixture.output.empty());
  CHECK(fixture.status({"run", "-n", "-E", "9", "jobs", "--", "true"}) == 9);
  CHECK(fixture.status_of_wait() == 1);
  CHECK(fixture.status({"run", "-n", "other", "--", "true"}) == 0);
  holder->close_input();
  CHECK(holder->wait() == 0);
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 0);
}

TEST_CASE("a run that waits gets the lock when it is released", "[process][run][R15]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  const auto waiter = fixture.start({"run", "-v", "jobs", "--", "echo", "mine"});
  CHECK_FALSE(waiter->next_message().empty());
  holder->close_input();
  CHECK(waiter->next_output() == "mine");
  CHECK(waiter->wait() == 0);
}

TEST_CASE("a signal ends the wait with 128 and its number", "[process][run][R15]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    const auto waiter = fixture.start({"run", "-v", "jobs", "--", "echo", "ran"});
    // It says at every look that the lock is taken.
    while (waiter->next_message().find("taken") == std::string::npos) continue;
    waiter->send(signal);
    CHECK(waiter->wait() == 128 + signal);
    CHECK(waiter->signal() == signal);
    CHECK(waiter->rest_of_output().empty());
  }
}

TEST_CASE("a command of a run in a run gets the inner lock's variables alone", "[process][run]") {
  ToolFixture fixture;
  for (const auto& [variable, times] :
       {std::pair{"^DISTLOCK_NAME=inner", "1\n"}, {"^DISTLOCK_[NFTV][A-Z_]*=", "4\n"}}) {
    CHECK(fixture.status({"run", "outer", "--", tool_path(), "run", "inner", "--", "grep", "-zc",
                          variable, "/proc/self/environ"}) == 0);
    CHECK(fixture.output == times);
  }
}

TEST_CASE("signals go on to the command, and its answer comes back", "[process][run]") {
  ToolFixture fixture;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    const auto tool = fixture.start({"run", "jobs", "--", "sh", "-c",
                                     "trap 'exit 7' TERM INT HUP QUIT; echo ready; read line"});
    REQUIRE(tool->next_output() == "ready");
    tool->send(signal);
    CHECK(tool->wait() == 7);
  }
}

TEST_CASE("a command finds those signals ignored that the tool found ignored", "[process][run]") {
  ToolFixture fixture;
  const std::string with = GENERATE("env ", "env --ignore-signal=PIPE,XFSZ,CHLD ");
  const std::string look = "grep SigIgn /proc/self/status";  // dash never ignores SIGCHLD.
  const std::string shell = with + look + "; exec " + with + "'" + tool_path() + "' run x " + look;
  REQUIRE(fixture.status({"run", "y", "env", "--default-signal", "sh", "-c", shell}) == 0);
  const auto half = fixture.output.size() / 2;
  CHECK(fixture.output.substr(0, half) == fixture.output.substr(half));
}

TEST_CASE("a lock whose holder was killed without a witness is taken over in time",
          "[process][run][R6]") {
  ToolFixture fixture;
  std::filesystem::create_directory(fixture.file().string() + "-witness");
  const auto holder = fixture.hold({"--takeover-after", "10s"});
  holder->send(SIGKILL);
  CHECK(holder->wait() == 128 + SIGKILL);
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 1);
  CHECK(fixture.status({"run", "-w", "60s", "--takeover-after", "10s", "jobs", "--", "sh", "-c",
                        "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(fixture.output == "2\n");
}

TEST_CASE("the command dies with the tool", "[process][run]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  holder->send(SIGKILL);
  holder->wait();
  // Its end of the pipe closes although its input stays open.
  CHECK(holder->rest_of_output().empty());
}

TEST_CASE("several runs never overlap", "[process][run][R1]") {
  ToolFixture fixture;
  const std::string critical = "set -C; : >" + (fixture.folder.path() / "inside").string() +
                               " || exit 99; rm " + (fixture.folder.path() / "inside").string();
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<ToolProcess>> tools;
    for (int i = 0; i < 4; ++i) {
      tools.push_back(fixture.start({"run", "jobs", "--", "sh", "-c", critical}));
    }
    for (const auto& tool : tools) CHECK(tool->wait() == 0);
  }
  CHECK(fixture.status({"run", "jobs", "sh", "-c", "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(fixture.output == "21\n");
}

TEST_CASE("break frees the hold, and a run that lost its lock says 75", "[process][break]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  CHECK(fixture.status({"break", "jobs"}) == 64);
  CHECK(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK(fixture.status({"break", "--yes", "jobs"}) == 0);
  CHECK_THAT(fixture.messages, Catch::Contains("free already"));
  const auto next = fixture.hold();

  holder->close_input();
  CHECK(holder->wait() == 75);
  CHECK_THAT(holder->rest_of_messages(), Catch::Contains("lost jobs"));
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 1);
}

TEST_CASE("status and list tell who holds what", "[process][status]") {
  ToolFixture fixture;
  const auto holder = fixture.hold({"--why", "tests"});
  CHECK(fixture.status({"status", "jobs"}) == 0);
  CHECK_THAT(fixture.output, Catch::Contains("jobs: taken") && Catch::Contains("tests"));
  CHECK(fixture.status({"status"}) == 0);
  CHECK_THAT(fixture.output, Catch::Contains("LOCK") && !Catch::Contains("PROCESS"));
  CHECK(fixture.status({"list"}) == 0);
  CHECK_THAT(fixture.output, Catch::Contains("LOCK") && Catch::Contains("PROCESS"));
  CHECK(fixture.status({"list", "--names"}) == 0);
  CHECK(fixture.output == "jobs\n");
  CHECK(fixture.status({"list", "--json"}) == 0);
  const auto json = nlohmann::json::parse(fixture.output);
  CHECK(json["locks"][0]["takeover"]["how"] == "later");
  CHECK(json["pings"][0]["holds"] == 1);

  holder->close_input();
  CHECK(holder->wait() == 0);
  CHECK(fixture.status({"status"}) == 0);
  CHECK(fixture.output == "no lock is held\n");
  CHECK(fixture.status({"status", "--json"}) == 0);
  CHECK(nlohmann::json::parse(fixture.output)["locks"].empty());
}

TEST_CASE("a malformed document is 65 for everybody and stays as it is", "[process][R14]") {
  ToolFixture fixture;
  REQUIRE(fixture.status({"run", "jobs", "--", "true"}) == 0);
  fixture.change("UPDATE locks SET state = 9");
  for (const Words& words :
       {Words{"run", "jobs", "--", "true"}, Words{"status", "jobs"}, Words{"status"}, Words{"list"},
        Words{"list", "--json"}, Words{"break", "--yes", "jobs"}}) {
    CAPTURE(words);
    CHECK(fixture.status(words) == 65);
    CHECK_THAT(fixture.messages, Catch::Contains("state"));
  }
}

TEST_CASE("a file that is no database of ours is 65", "[process]") {
  ToolFixture fixture;
  std::ofstream(fixture.file()) << std::string(4096, 'x');
  CHECK(fixture.status({"run", "jobs", "--", "true"}) == 65);
  CHECK(fixture.status({"list"}) == 65);
}

TEST_CASE("a file that may not be read is 77", "[process]") {
  ToolFixture fixture;
  REQUIRE(fixture.status({"run", "jobs", "--", "true"}) == 0);
  fs::permissions(fixture.file(), fs::perms::none);
  CHECK(fixture.status({"run", "jobs", "--", "true"}) == 77);
  CHECK(fixture.status({"list"}) == 77);
}

TEST_CASE("a store that is away is 69, and its password is not shown", "[process]") {
  ToolFixture fixture;
  // Port 1 of the loopback: nobody listens.
  const std::string uri = "mongodb://ann:secret@127.0.0.1:1/?serverSelectionTimeoutMS=100";
  CHECK(fixture.status({"list", "--uri", uri}) == 69);
  CHECK_THAT(fixture.messages, Catch::Contains("127.0.0.1:1") && !Catch::Contains("secret"));
  CHECK_THAT(fixture.messages, Catch::Contains("warning: a password on the command line"));
  CHECK(fixture.status({"list", "-q", "--uri", uri}) == 69);
  CHECK_THAT(fixture.messages, !Catch::Contains("warning"));
  CHECK(fixture.status(
            {"run", "-n", "--takeover-after", "2s", "--uri", uri, "jobs", "--", "true"}) == 69);
  CHECK_THAT(fixture.messages, !Catch::Contains("secret"));
}

TEST_CASE("a command line that cannot be used is 64", "[process]") {
  ToolFixture fixture;
  const std::string absent = fixture.folder.path() / "absent";
  for (const Words& words :
       {Words{}, Words{"walk"}, Words{"run", "jobs"}, Words{"run", "", "--", "true"},
        Words{"list", "--uri", "nfs:x"}, Words{"list", "--uri-file", absent},
        Words{"run", "--takeover-after", "1000000000m", "jobs", "--", "true"},
        Words{"run", "--uri", "memory:", "jobs", "--", "true"},
        Words{"list", "--uri", "mongodb://ann:***@127.0.0.1:1/"},
        Words{"run", "--takeover-after", "1s", "--ping-every", "1m", "jobs", "--", "true"}}) {
    CAPTURE(words);
    CHECK(fixture.status(words) == 64);
    CHECK_THAT(fixture.messages, Catch::StartsWith("distlock: "));
  }
}

TEST_CASE("without a store or a home there is no place for locks", "[process]") {
  ToolProcess tool({"run", "jobs", "--", "true"}, {});
  CHECK(tool.wait() == 64);
  CHECK_THAT(tool.rest_of_messages(), Catch::Contains("no store is named"));
}

TEST_CASE("without a store named, the user's state directory has it", "[process]") {
  const TemporaryFolder home;
  ToolProcess tool({"run", "jobs", "--", "true"}, {{"HOME", home.path().string()}});
  CHECK(tool.wait() == 0);
  const fs::path file = home.path() / ".local/state/distlock/locks.db";
  REQUIRE(fs::exists(file));
  CHECK((fs::status(file).permissions() & fs::perms::all) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  CHECK((fs::status(file.parent_path()).permissions() & fs::perms::all) == fs::perms::owner_all);
}

TEST_CASE("the connection string can come from a file", "[process]") {
  ToolFixture fixture;
  const fs::path file = fixture.folder.path() / "uri";
  std::ofstream(file) << "sqlite:" << (fixture.folder.path() / "other.db").string() << "\r\n";
  CHECK(fixture.status({"run", "--uri-file", file.string(), "jobs", "--", "true"}) == 0);
  CHECK(fs::exists(fixture.folder.path() / "other.db"));
  CHECK_FALSE(fs::exists(fixture.file()));

  std::ofstream(file, std::ios::trunc).close();
  CHECK(fixture.status({"run", "--uri-file", file.string(), "jobs", "--", "true"}) == 64);
  CHECK_THAT(fixture.messages, Catch::Contains("it is empty"));
}

TEST_CASE("a connection string that is malformed is refused without its password", "[process]") {
  ToolFixture fixture;
  CHECK(fixture.status({"list", "--uri", "mongodb://ann:s3cr3t@h:0/"}) == 64);
  CHECK_THAT(fixture.messages, Catch::Contains("the port") && !Catch::Contains("s3cr3t"));
  CHECK(fixture.status({"list", "--uri", "mongodb://127.0.0.1:1/"}) == 69);
}

TEST_CASE("a tool that can open nothing says so and is 70", "[process][unsanitized]") {
  ToolFixture fixture;
  // One descriptor is left for the loader.
  const std::string shell = "exec 3>&-; ulimit -n 4; exec " + tool_path();
  for (const char* const words : {" run x true", " list", " status jobs", " break jobs"}) {
    CAPTURE(words);
    CHECK(fixture.status({"run", "jobs", "--", "sh", "-c", shell + words}) == 70);
    CHECK_THAT(fixture.messages, Catch::Contains("many open") && !Catch::Contains("internal"));
  }
}

TEST_CASE("a file of a connection string that may not be read is 77", "[process]") {
  ToolFixture fixture;
  const fs::path file = fixture.folder.path() / "uri";
  std::ofstream(file) << "sqlite:" << fixture.file().string() << '\n';
  fs::permissions(file, fs::perms::none);
  CHECK(fixture.status({"list", "--uri-file", file.string()}) == 77);
  CHECK_THAT(fixture.messages, Catch::Contains("cannot read a connection string"));
}
