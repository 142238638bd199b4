// A `distlock run` on a SQLite file that is killed, and what it leaves behind (R23). All windows
// are the default, 16 minutes.
#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "process/stop_at_rest.h"
#include "process/tool_fixture.h"
#include "support/sleeper.h"

using namespace distlock::testing;

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The process besides the tool that watches over its command. None may have its name yet.
std::optional<pid_t> perhaps_keeper_of(pid_t tool) {
  const std::string parent = "\nPPid:\t" + std::to_string(tool) + '\n';
  for (const auto& process : fs::directory_iterator("/proc")) {
    const std::string status = text_of(process.path() / "status");
    const bool keeper = status.starts_with("Name:\tdistlock-keeper\n");
    if (keeper && status.find(parent) != status.npos) return std::stoi(process.path().filename());
  }
  return std::nullopt;
}

pid_t keeper_of(pid_t tool) {
  std::optional<pid_t> keeper;
  while (!keeper) keeper = perhaps_keeper_of(tool);
  return *keeper;
}
pid_t keeper_of(const ToolProcess& tool) { return keeper_of(tool.id()); }

/// Whether it has done its first steps, and waits for orders or a time.
bool watches(pid_t keeper) {
  const std::string status = text_of("/proc/" + std::to_string(keeper) + "/status");
  return status.find("\nState:\tS") != status.npos;
}

/// Whether it still does something.
bool runs(pid_t id) {
  const std::string status = text_of("/proc/" + std::to_string(id) + "/status");
  return !status.empty() && status.find("\nState:\tZ") == status.npos;
}

/// Kills the process when the test ends, too.
class Survivor {
 public:
  explicit Survivor(pid_t id) : id_(id) {}
  ~Survivor() { end(); }
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  void end() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    while (runs(id_)) std::this_thread::yield();
    id_ = -1;
  }

 private:
  pid_t id_;
};

/// Whether `distlock list` says that the lock can be taken over, and when.
std::string takeover_of_jobs(ToolFixture& fixture) {
  REQUIRE(fixture.status({"list", "--json"}) == 0);
  return nlohmann::json::parse(fixture.output)["locks"][0]["takeover"]["how"];
}

const ToolFixture::Words kTry{"run", "-n", "jobs", "--", "sh", "-c", "echo $DISTLOCK_FENCE"};
const ToolFixture::Words kWait{"run", "jobs", "--", "sh", "-c", "echo $DISTLOCK_FENCE"};

// Of a killed run whose COMMAND, behind those words, leaves a session of its own.
void check_that_remains_end(const std::vector<std::string>& around) {
  ToolFixture fixture;
  std::vector<std::string> words{"run", "--takeover-after", "12s", "jobs", "--"};
  words.insert(words.end(), around.begin(), around.end());
  words.insert(words.end(),
               {"sh", "-c", std::string(DISTLOCK_BARE_PROGRAM) + " session; exec cat"});
  const auto holder = fixture.start(words);
  const pid_t left = std::stoi(holder->next_output());
  const Survivor survivor(left);
  holder->send(SIGKILL);
  const auto next = fixture.start(kWait);
  CHECK(next->next_output() == "2");
  CHECK_FALSE(runs(left));
  CHECK(next->wait() == 0);
}

}  // namespace

TEST_CASE("when a run is killed the next in line has its lock", "[process][run][R23]") {
  const ToolFixture fixture;
  const auto holder = fixture.hold();
  const auto next = fixture.start(kWait);
  holder->send(SIGKILL);
  CHECK(next->next_output() == "2");
  CHECK(next->wait() == 0);
}

TEST_CASE("when a run and its keeper are killed the next has its lock", "[process][run][R23]") {
  const ToolFixture fixture;
  const auto holder = fixture.hold();
  kill(keeper_of(*holder), SIGKILL);
  holder->send(SIGKILL);
  const auto next = fixture.start(kWait);
  CHECK(next->next_output() == "2");
  CHECK(next->wait() == 0);
}

TEST_CASE("a run that was killed is listed as ended while another one goes on",
          "[process][run][list][R23]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  const auto other = fixture.start({"run", "other", "--", "sh", "-c", "echo x; exec cat"});
  REQUIRE(other->next_output() == "x");
  kill(keeper_of(*holder), SIGKILL);
  holder->send(SIGKILL);
  while (takeover_of_jobs(fixture) != "now") continue;  // Its command has to end.
}

TEST_CASE("a run whose keeper is killed keeps its lock", "[process][run][R23][R1]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  kill(keeper_of(*holder), SIGKILL);
  CHECK(fixture.status(kTry) == 1);
}

TEST_CASE("a run that is stopped keeps its lock", "[process][run][R23][R1]") {
  ToolFixture fixture;
  const auto holder = fixture.hold();
  stop_at_rest(*holder, fixture.file());
  CHECK(fixture.status(kTry) == 1);
  holder->send(SIGCONT);
}

TEST_CASE("processes that a command has started keep the lock of a run that is killed",
          "[process][run][R23][R1]") {
  const bool keeper_too = GENERATE(false, true);
  CAPTURE(keeper_too);
  ToolFixture fixture;
  const auto holder = fixture.start(
      {"run", "jobs", "--", "sh", "-c",
       "setsid sh -c 'echo $$; exec sleep 120 >/dev/null 2>&1 </dev/null' & exec cat"});
  Survivor survivor(std::stoi(holder->next_output()));
  if (keeper_too) kill(keeper_of(*holder), SIGKILL);
  holder->send(SIGKILL);
  CHECK(holder->wait() == 128 + SIGKILL);
  CHECK(holder->rest_of_output().empty());  // The command has ended.
  CHECK(fixture.status(kTry) == 1);
  survivor.end();
  const auto next = fixture.start(kWait);
  CHECK(next->next_output() == "2");
  CHECK(next->wait() == 0);
}

TEST_CASE("processes that have closed their descriptors keep the lock of a run that is killed",
          "[process][run][R23][R1]") {
  const auto [way, keeper_too] =
      GENERATE(table<std::string, bool>({{"session", false},
                                         {"session", true},
                                         {"session environment", false},
                                         {"session environment", true}}));
  CAPTURE(way, keeper_too);
  ToolFixture fixture;
  const auto holder =
      fixture.start({"run", "jobs", "--", "sh", "-c",
                     std::string(DISTLOCK_BARE_PROGRAM) + ' ' + way + "; exec cat"});
  Survivor survivor(std::stoi(holder->next_output()));
  if (keeper_too) kill(keeper_of(*holder), SIGKILL);
  holder->send(SIGKILL);
  CHECK(holder->wait() == 128 + SIGKILL);
  CHECK(holder->rest_of_output().empty());  // The command has ended.
  CHECK(fixture.status(kTry) == 1);
  CHECK(takeover_of_jobs(fixture) == "later");
  survivor.end();
  // Its keeper has to notice.
  while (takeover_of_jobs(fixture) != "now") continue;
  const auto next = fixture.start(kWait);
  CHECK(next->next_output() == "2");
  CHECK(next->wait() == 0);
}

// Its members could not see such a program: a command keeps the witness of one file.
TEST_CASE("a run on mirrored files that is killed leaves its lock to the window",
          "[process][run][R23][M4]") {
  ToolFixture fixture;
  std::string members;
  for (const char* name : {"a", "b", "c"}) {
    members += (members.empty() ? "" : ",") + (fixture.folder.path() / name).string();
  }
  const std::string uri = "mirrored+sqlite:" + members;
  const std::string bare = std::string(DISTLOCK_BARE_PROGRAM) + " session";
  const auto holder = fixture.start({"run", "--takeover-after", "16m", "--uri", uri, "jobs", "--",
                                     "sh", "-c", bare + "; exec cat"});
  const Survivor survivor(std::stoi(holder->next_output()));
  kill(keeper_of(*holder), SIGKILL);
  holder->send(SIGKILL);
  CHECK(holder->wait() == 128 + SIGKILL);
  CHECK(holder->rest_of_output().empty());
  CHECK(fixture.status(
            {"run", "-n", "--takeover-after", "16m", "--uri", uri, "jobs", "--", "true"}) == 1);
}

TEST_CASE("the lock of a run that is killed stays until its keeper has ended the command's group",
          "[process][run][R23][R1]") {
  ToolFixture fixture;
  // A contender would not know it: it has no descriptor, and variables without a token.
  const std::string left_over = std::string("env -i A=b ") + DISTLOCK_BARE_PROGRAM;
  const auto holder = fixture.start({"run", "jobs", "--", "sh", "-c", left_over + " & exec cat"});
  const pid_t left = std::stoi(holder->next_output());
  const Survivor survivor(left);
  const pid_t keeper = keeper_of(*holder);
  kill(keeper, SIGSTOP);
  holder->send(SIGKILL);
  CHECK(holder->wait() == 128 + SIGKILL);
  CHECK(fixture.status(kTry) == 1);
  CHECK(runs(left));
  kill(keeper, SIGCONT);
  const auto next = fixture.start(kWait);
  CHECK(next->next_output() == "2");
  CHECK_FALSE(runs(left));
  CHECK(next->wait() == 0);
}

// The inner run's keeper ends with the others, and its window is longer.
TEST_CASE("the remains of a run in a run that is killed are ended before its window is over",
          "[process][run][R23][R1]") {
  check_that_remains_end({tool_path(), "run", "inner", "--"});
}

TEST_CASE("the remains of a killed run are ended before its window is over",
          "[process][run][R23][R1]") {
  check_that_remains_end({});
}

TEST_CASE("the keeper of a run leaves its folder, so that it can be unmounted",
          "[process][run][R9]") {
  ToolFixture fixture;
  const std::string inner = "cd " + fixture.folder.path().string() + "; exec " + tool_path() +
                            " run jobs -- sh -c 'echo $PPID; exec cat'";
  const auto holder = fixture.start({"run", "outer", "--", "sh", "-c", inner});
  const pid_t keeper = keeper_of(std::stoi(holder->next_output()));
  while (!watches(keeper)) std::this_thread::yield();
  CHECK(fs::read_symlink("/proc/" + std::to_string(keeper) + "/cwd") == "/");
}

TEST_CASE("the keeper of a killed run kills no process that may be another's",
          "[process][run][unsanitized][R23]") {
  ToolFixture fixture;
  const auto holder = fixture.hold({"--takeover-after", "4s"});
  // Of the run's session, and without variables that would tell whose it is.
  const pid_t bystander = distlock::testing::sleeper();
  REQUIRE(bystander > 0);
  const Survivor survivor(bystander);
  holder->send(SIGKILL);
  // The window is over then, and before it the time to kill.
  CHECK(fixture.status({"run", "-w", "100s", "--takeover-after", "4s", "jobs", "--", "true"}) == 0);
  CHECK(runs(bystander));
}
