// The keeper as a process: what it holds, and what it heeds.
#include "cli/keeper.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "cli/child_process.h"
#include "command_end.h"

using namespace distlock::cli;

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
