#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "cli/descendants.h"
#include "cli/keeper.h"
#include "cli/supervision.h"
#include "support/leave.h"

// A keeper whose command is gone, at the deadline.

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

Guarded hold() {
  const SteadyTime until = host_clock()->steady_now() + 1h;
  return {[until] { return until; },
          {},
          {.on_loss = OnLoss::terminate, .grace = 10s, .margin = 10s, .look_every = 1h}};
}

/// Without reaping it.
bool has_ended(pid_t id) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == id;
}

}  // namespace

TEST_CASE("a keeper kills nothing of a command that has ended, however long the release takes",
          "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  const Command command{.words = {"sh", "-c", "sleep 99 &"}, .environment = {}};
  CHECK(run_to_end(command, signals, hold(), keeper).exit_status == 0);
  const auto left = descendants_of(getpid(), keeper.process());
  REQUIRE(left.size() == 1);
  keeper.set_kill_at(SteadyTime::min());  // As when the time of the last ping is over.
  while (!has_ended(keeper.id()) && !has_ended(left.front())) std::this_thread::yield();
  CHECK_FALSE(has_ended(left.front()));
  kill(left.front(), SIGKILL);
}

TEST_CASE("a keeper kills nothing where the command never began, however long the release takes",
          "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  CHECK_THROWS_AS(
      run_to_end({.words = {"/nowhere/at/all"}, .environment = {}}, signals, hold(), keeper),
      StartFailure);
  const pid_t other = fork();
  REQUIRE(other >= 0);
  if (other == 0) {
    pause();
    distlock::testing::leave(0);
  }
  keeper.set_kill_at(SteadyTime::min());
  while (!has_ended(keeper.id()) && !has_ended(other)) std::this_thread::yield();
  CHECK_FALSE(has_ended(other));
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}
