// Looks at a folder as /proc is one, with files that fail or are strange. In doubt a process may
// live (R23).
#include "processes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "support/leave.h"
#include "support/open_descriptors.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

const std::string kToken = "0123456789abcdef01234567";
const std::string kOther{"A=b\0C=d\0", 8};
constexpr pid_t kProcess = 4711;
constexpr auto kGiven = 1000s;  // By CLOCK_BOOTTIME.

std::string with_token(const std::string& token) {
  return kOther + "DISTLOCK_TOKEN=" + token + '\0';
}

/// A process as /proc shows it.
struct Shown {
  std::string state = "S";
  int threads = 1;
  int flags = 0x00400100;
  int size = 4096;
};

constexpr int kExiting = 0x0040040c;  // As a kernel shows it while it closes the files.

/// With this process, and another whose environment has no token.
class FakeProc {
 public:
  FakeProc() {
    fs::create_directory(path() / std::to_string(getpid()));
    fs::create_symlink(std::to_string(getpid()), path() / "self");
    put(getpid(), "mountinfo", "25 30 0:23 / /proc rw,nosuid - proc proc rw\n");
    add(getpid());
    add(kProcess);
  }

  fs::path path() const { return folder_.path(); }
  fs::path file(pid_t id, const std::string& name) const {
    return path() / std::to_string(id) / name;
  }
  void put(pid_t id, const std::string& name, const std::string& text) const {
    fs::create_directory(path() / std::to_string(id));
    std::ofstream(file(id, name)) << text;
  }
  /// A file that cannot be read.
  void spoil(pid_t id, const std::string& name) const {
    fs::remove(file(id, name));
    fs::create_directory(file(id, name));
  }
  void start(pid_t id, std::chrono::seconds at, const Shown& shown = {}) const {
    const auto ticks = std::to_string(at.count() * sysconf(_SC_CLK_TCK));
    put(id, "stat",
        std::to_string(id) + " (a) b) " + shown.state + " 1 2 3 0 -1 " +
            std::to_string(shown.flags) + " 0 0 0 0 0 0 0 0 20 0 " + std::to_string(shown.threads) +
            " 0 " + ticks + ' ' + std::to_string(shown.size) + " 0 0\n");
  }
  bool may_be_had() const { return distlock::may_be_had(kToken, kGiven, path().string()); }
  bool shows_all() const { return running_processes(path().string()).all; }

 private:
  void add(pid_t id) const {
    start(id, kGiven);
    put(id, "environ", kOther);
  }

  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a token that no process has is nobody's", "[processes][R23]") {
  const FakeProc proc;
  CHECK(proc.shows_all());
  CHECK_FALSE(proc.may_be_had());
  proc.put(kProcess, "environ", with_token("0123456789abcdef01234568"));
  CHECK_FALSE(proc.may_be_had());
  proc.put(kProcess, "environ", with_token(kToken));
  CHECK(proc.may_be_had());
}

TEST_CASE("a token of a run around another is that of the inner run's processes, too",
          "[processes][R23]") {
  const FakeProc proc;
  const auto may_be_had_with = [&](const std::string& tokens) {
    proc.put(kProcess, "environ", kOther + "DISTLOCK_OUTER_TOKENS=" + tokens + '\0');
    return proc.may_be_had();
  };
  CHECK(may_be_had_with(kToken));
  CHECK(may_be_had_with(kToken + ",1123456789abcdef01234567"));
  CHECK(may_be_had_with("1123456789abcdef01234567," + kToken));
  CHECK_FALSE(may_be_had_with(""));
  CHECK_FALSE(may_be_had_with(kToken + "0"));
  CHECK_FALSE(may_be_had_with("0" + kToken + ",0"));
}

TEST_CASE("a process knows the tokens of the runs around it, the nearest first",
          "[processes][R22][R23]") {
  unsetenv("DISTLOCK_TOKEN");
  setenv("DISTLOCK_OUTER_TOKENS", ("cd," + std::string(100'000, 'e')).c_str(), 1);
  CHECK_THAT(outer_tokens(), Catch::StartsWith("cd,e"));
  setenv("DISTLOCK_TOKEN", "ab", 1);
  const std::string tokens = outer_tokens();
  unsetenv("DISTLOCK_OUTER_TOKENS");
  CHECK(outer_tokens() == "ab");
  unsetenv("DISTLOCK_TOKEN");
  CHECK_THAT(tokens, Catch::StartsWith("ab,cd,e"));
  CHECK(tokens.size() < 10'000);
}

TEST_CASE("variables of many kilobytes are read whole", "[processes][R23]") {
  const FakeProc proc;
  const std::string long_one = "A=" + std::string(100'000, 'a') + '\0';
  proc.put(kProcess, "environ", long_one + kOther);
  CHECK_FALSE(proc.may_be_had());
  proc.put(kProcess, "environ", long_one + with_token(kToken));
  CHECK(proc.may_be_had());
}

TEST_CASE("a process that does not tell its variables may have a token", "[processes][R23][R1]") {
  const FakeProc proc;
  SECTION("it may not be read") { proc.spoil(kProcess, "environ"); }
  SECTION("nothing is there") { proc.put(kProcess, "environ", ""); }
  SECTION("a title is there") { proc.put(kProcess, "environ", "worker: idle"); }
  SECTION("a title with zeros is there") {
    proc.put(kProcess, "environ", std::string("worker\0\0", 8));
  }
  SECTION("there are more threads than its first") {
    proc.put(kProcess, "environ", "");
    proc.start(kProcess, kGiven, {.state = "Z", .threads = 2});
  }
  SECTION("its first thread is ending, and there are more") {
    proc.put(kProcess, "environ", "");
    proc.start(kProcess, kGiven, {.threads = 2, .flags = kExiting, .size = 0});
  }
  SECTION("a thread that executes a program replaces its first") {
    proc.put(kProcess, "environ", "");
    proc.start(kProcess, kGiven, {.threads = 0, .flags = kExiting, .size = 0});
  }
  SECTION("it begins to end") {
    proc.put(kProcess, "environ", "");
    proc.start(kProcess, kGiven, {.flags = kExiting});
  }
  SECTION("it shows no size") {
    proc.put(kProcess, "environ", "");
    proc.start(kProcess, kGiven, {.size = 0});
  }
  CHECK(proc.may_be_had());
  CHECK(proc.shows_all());
}

TEST_CASE("a process that does not tell and is older than a token does not have it",
          "[processes][R23]") {
  const FakeProc proc;
  proc.spoil(kProcess, "environ");
  // Starts are told by ticks.
  proc.start(kProcess, kGiven - 1s);
  CHECK(proc.may_be_had());
  proc.start(kProcess, kGiven - 2s);
  CHECK_FALSE(proc.may_be_had());
}

TEST_CASE("a process that has ended has no token", "[processes][R23]") {
  const FakeProc proc;
  proc.spoil(kProcess, "environ");
  SECTION("it is not waited for") { proc.start(kProcess, kGiven, {.state = "Z"}); }
  SECTION("its memory is gone, and its files are about to be closed") {
    proc.start(kProcess, kGiven, {.state = "R", .flags = kExiting, .size = 0});
  }
  SECTION("it has gone") { fs::remove(proc.file(kProcess, "stat")); }
  CHECK_FALSE(proc.may_be_had());
}

// It has them until it is a zombie: a look that left it out would lose them.
TEST_CASE("a process that is ending is seen, with its children", "[processes][R23]") {
  const FakeProc proc;
  proc.start(kProcess, kGiven, {.state = "R", .flags = kExiting, .size = 0});
  const auto seen = running_process(kProcess, proc.path().string());
  CHECK(seen.value_or(RunningProcess{}).ending);
}

TEST_CASE("where /proc does not show all a token may be somebody's", "[processes][R23][R1]") {
  const FakeProc proc;
  SECTION("a process cannot be looked at") { proc.spoil(kProcess, "stat"); }
  SECTION("a process cannot be understood") { proc.put(kProcess, "stat", "4711 (x) S 1 2"); }
  SECTION("a number cannot be understood") {
    proc.put(kProcess, "stat", "4711 (x) S 1 2 3 0 -1 x 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n");
  }
  SECTION("nothing is said of a process") { proc.put(kProcess, "stat", ""); }
  SECTION("it hides processes") {
    proc.put(getpid(), "mountinfo", "25 30 0:23 / /proc rw - proc proc rw,hidepid=invisible\n");
  }
  SECTION("it does not say whether it hides some") { fs::remove(proc.file(getpid(), "mountinfo")); }
  SECTION("it is of another namespace") {
    fs::remove(proc.path() / "self");
    fs::create_symlink("1", proc.path() / "self");
    proc.put(1, "mountinfo", "25 30 0:23 / /proc rw - proc proc rw\n");
  }
  SECTION("it is not there") { fs::remove_all(proc.path()); }
  CHECK_FALSE(proc.shows_all());
  CHECK(proc.may_be_had());
}

TEST_CASE("a kernel's /proc shows this process, and what it was given", "[processes][R23]") {
  CHECK(running_process(getpid()).value_or(RunningProcess{}).parent == getppid());
  CHECK(environment_of(getpid()));
  CHECK_FALSE(pid_namespace().empty());
}

TEST_CASE("a process that is forked during a look for a token is seen by the next",
          "[processes][R23][R1][threads]") {
  constexpr pid_t kForked = kProcess + 1;
  const FakeProc proc;
  const fs::path variables = proc.file(kProcess, "environ");
  fs::remove(variables);
  REQUIRE(mkfifo(variables.c_str(), 0600) == 0);
  // The first look has its list of processes by the time it waits for the variables of one.
  const std::jthread forks([&] {
    const int file = open(variables.c_str(), O_WRONLY | O_CLOEXEC);
    fs::remove(variables);
    proc.put(kProcess, "environ", kOther);
    proc.start(kForked, kGiven);
    proc.put(kForked, "environ", with_token(kToken));
    [[maybe_unused]] const ssize_t written = write(file, kOther.data(), kOther.size());
    close(file);
  });
  CHECK(proc.may_be_had());
}

TEST_CASE("a process that does not tell its variables leaves no descriptor open",
          "[processes][R23]") {
  const FakeProc proc;
  proc.spoil(kProcess, "environ");
  const auto before = distlock::testing::open_descriptors();
  CHECK(proc.may_be_had());
  CHECK_FALSE(environment_of(kProcess, proc.path().string()));
  CHECK(distlock::testing::open_descriptors() == before);
}

TEST_CASE("a thread of the kernel has no token, however young it is", "[processes][R23]") {
  const FakeProc proc;
  proc.put(kProcess, "environ", "");
  proc.start(kProcess, kGiven + 1s, {.state = "I", .flags = 0x04208060, .size = 0});
  CHECK_FALSE(running_process(kProcess, proc.path().string()));
  CHECK(proc.shows_all());
  CHECK_FALSE(proc.may_be_had());
}

// Between the opening of its file and the reading.
TEST_CASE("a process that ends while it is looked at has no token", "[processes][R23]") {
  const FakeProc proc;
  const pid_t child = fork();
  if (child == 0) leave(0);
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  const int file = open(stat.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  fs::remove(proc.file(kProcess, "stat"));
  fs::create_symlink("/proc/self/fd/" + std::to_string(file), proc.file(kProcess, "stat"));
  CHECK(proc.shows_all());
  CHECK_FALSE(proc.may_be_had());
  close(file);
}

TEST_CASE("a process that the kernel calls dead has no token", "[processes][R23]") {
  const FakeProc proc;
  proc.spoil(kProcess, "environ");
  proc.start(kProcess, kGiven, {.state = "X"});
  CHECK_FALSE(running_process(kProcess, proc.path().string()));
  CHECK_FALSE(proc.may_be_had());
}

TEST_CASE("a title that begins with an equals sign is no variable", "[processes][R23][R1]") {
  const FakeProc proc;
  proc.put(kProcess, "environ", std::string("=idle=\0", 7));
  CHECK(proc.may_be_had());
  CHECK_FALSE(environment_of(kProcess, proc.path().string()));
}
