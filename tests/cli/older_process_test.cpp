#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "cli/keeper.h"
#include "cli/supervision.h"
#include "support/leave.h"
#include "support/temporary_folder.h"

// Processes that were there before a run.

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// Whether a process that was there before a run outlives the loss of its lock. It is like that of
/// a shell that has started it in the background, and then executed the tool.
bool older_outlives_a_loss(void (*trouble)(const Keeper&)) {
  const pid_t older = fork();
  if (older == 0) {
    execlp("sleep", "sleep", "99", nullptr);
    distlock::testing::leave(1);
  }
  Keeper keeper;
  const Signals signals;
  trouble(keeper);
  const distlock::testing::TemporaryFolder folder;
  const auto ready = folder.path() / "ready";
  const SteadyTime until = host_clock()->steady_now() + 1h;
  const Guarded hold{
      [&] { return std::filesystem::exists(ready) ? SteadyTime::min() : until; },
      {},
      {.on_loss = OnLoss::terminate, .grace = 10s, .margin = 10s, .look_every = 10ms}};
  const std::string script = "sleep 99 & : >" + ready.string() + "; sleep 99";
  const Ending ending =
      run_to_end({.words = {"sh", "-c", script}, .environment = {}}, signals, hold, keeper);
  CHECK(ending.cut_short);
  const bool runs = waitpid(older, nullptr, WNOHANG) == 0;
  if (runs) kill(older, SIGKILL);
  waitpid(older, nullptr, 0);
  return runs;
}

}  // namespace

TEST_CASE("a loss leaves alone what was there before the run", "[cli][child][R9]") {
  CHECK(older_outlives_a_loss([](const Keeper&) {}));
}

TEST_CASE("a loss leaves alone what was there before the run also if the keeper was killed",
          "[cli][child][R9]") {
  CHECK(older_outlives_a_loss([](const Keeper& keeper) { kill(keeper.id(), SIGKILL); }));
}
