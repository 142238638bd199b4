// The keeper as a process: what it holds, and what it heeds.
#include "cli/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include "cli/child_process.h"
#include "command_end.h"
#include "distlock/clock.h"
#include "support/sleeper.h"
#include "token_of_this_process.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

constexpr int kMinute = 60'000;
constexpr int kFree = 77;  // No descriptor of ours has that number.

/// Waits until it has got ready: it has left our session by then.
void wait_until_ready(const Keeper& keeper) {
  const std::string file = "/proc/" + std::to_string(keeper.id()) + "/comm";
  for (std::string name; name != "distlock-keeper"; std::this_thread::yield()) {
    std::getline(std::ifstream(file), name);
  }
}

bool blocks(pid_t process, int signal) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  std::string word;
  while (file >> word && word != "SigBlk:") continue;
  std::uint64_t blocked = 0;
  file >> std::hex >> blocked;
  return (blocked >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

/// The end of a pipe whose other end a keeper was given by that number. Readable once nobody has
/// that other end.
int end_lent_as(int number) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  if (ends[1] != number) {
    REQUIRE(dup2(ends[1], number) == number);
    close(ends[1]);
  }
  return ends[0];
}

}  // namespace

// Another program may wait for the end of what a run writes, also when the run was killed.
TEST_CASE("a keeper holds no descriptor that its run was given", "[cli][child][R23]") {
  const int number = GENERATE(STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, kFree);
  const int before = number == kFree ? -1 : dup(number);
  const int end = end_lent_as(number);
  const Keeper keeper;
  close(number);
  if (before >= 0) {
    REQUIRE(dup2(before, number) == number);
    close(before);
  }
  pollfd waited{.fd = end, .events = POLLIN, .revents = 0};
  CHECK(poll(&waited, 1, kMinute) == 1);
  close(end);
}

// As a terminal that goes away, or `pkill distlock`, sends them.
TEST_CASE("a keeper heeds no signal that can be blocked, and is of no other session",
          "[cli][child][R9]") {
  const Signals signals;
  Keeper keeper;
  wait_until_ready(keeper);
  CHECK(getsid(keeper.id()) == keeper.id());
  ChildProcess child(kSleep, signals, keeper);
  wait_for_sleep(keeper);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) kill(keeper.id(), number);
  keeper.set_kill_at(distlock::SteadyTime::min());
  CHECK(signal_that_ended(child, signals) == SIGKILL);
}

TEST_CASE("a keeper blocks signals from its first moment on, and its tool does not",
          "[cli][child][R9]") {
  for (int i = 0; i < 50; ++i) {
    const Keeper keeper;
    CHECK(blocks(keeper.id(), SIGINT));
    CHECK_FALSE(blocks(getpid(), SIGINT));
  }
}

TEST_CASE("a child knows the time also by a clock that a library has set", "[cli][child][R9]") {
  Keeper keeper;
  keeper.set_kill_at(host_clock()->steady_now() + 1h);
  CHECK(abs(Keeper::kernel_ahead()) < 30min);
  CHECK_FALSE(keeper.time_is_over(Keeper::kernel_ahead()));
  // A library adds two hours, or takes some away.
  CHECK(keeper.time_is_over(-2h));
  CHECK_FALSE(keeper.time_is_over(2h));
}

TEST_CASE("a message that is no order does not end the keeper's watch", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  for (const std::size_t size : {1, 17, 4000}) {
    const std::string line(size, '\xff');
    REQUIRE(write(keeper.descriptor(), line.data(), line.size()) >= 0);
  }
  ChildProcess child(kSleep, signals, keeper);
  wait_for_sleep(keeper);
  keeper.set_kill_at(host_clock()->steady_now());
  CHECK(signal_that_ended(child, signals) == SIGKILL);
}

TEST_CASE("a keeper that was stopped heeds the last deadline when it goes on", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  ChildProcess child(kSleep, signals, keeper);
  wait_for_sleep(keeper);
  kill(keeper.id(), SIGSTOP);
  // More than a socket takes.
  const SteadyTime start = host_clock()->steady_now();
  for (int i = 0; i < 5000; ++i) keeper.set_kill_at(start - 1h + i * 1ms);
  const SteadyTime last = start + 1s;
  keeper.set_kill_at(last);
  kill(keeper.id(), SIGCONT);
  CHECK(signal_that_ended(child, signals) == SIGKILL);
  CHECK(host_clock()->steady_now() >= last);
}

// Also where the command runs on. By then others judge by the pings of the dead.
TEST_CASE(
    "a keeper outlives its tool for the window at most, and so long where something may be left",
    "[cli][child][R23]") {
  constexpr auto kWindow = 300ms;
  // A process that does not tell its variables may be of the command.
  const bool tells = GENERATE(true, false);
  std::array<int, 2> told{};
  std::array<int, 2> heard{};
  REQUIRE(pipe2(told.data(), O_CLOEXEC) == 0);
  REQUIRE(pipe2(heard.data(), O_CLOEXEC) == 0);
  const std::string token = token_of_this_process();
  const pid_t tool = fork();
  REQUIRE(tool >= 0);
  if (tool == 0) {
    close(heard[1]);  // It ends with the test, also where that fails.
    Keeper keeper;
    keeper.guard(token, kWindow, -1);
    const std::string variable = tells ? "DISTLOCK_TOKEN=" + token : "";
    const std::array<pid_t, 2> ids{keeper.id(), distlock::testing::sleeper(variable)};
    char known = 0;
    const bool sent =
        write(told[1], ids.data(), sizeof ids) == sizeof ids && read(heard[0], &known, 1) == 1;
    kill(getpid(), sent ? SIGKILL : SIGABRT);
  }
  std::array<pid_t, 2> ids{};
  REQUIRE(read(told[0], ids.data(), sizeof ids) == sizeof ids);
  const int keeper = static_cast<int>(syscall(SYS_pidfd_open, ids[0], 0));
  REQUIRE(keeper >= 0);
  const SteadyTime start = host_clock()->steady_now();
  REQUIRE(write(heard[1], "", 1) == 1);
  pollfd ended{.fd = keeper, .events = POLLIN, .revents = 0};
  CHECK(poll(&ended, 1, kMinute) == 1);
  CHECK(host_clock()->steady_now() >= start + kWindow);
  CHECK(kill(ids[1], SIGKILL) == 0);
  waitpid(tool, nullptr, 0);
  for (const int number : {told[0], told[1], heard[0], heard[1], keeper}) close(number);
}
