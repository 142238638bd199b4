// Commands whose deadline comes nearer while they run, as on a mirrored store.
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "cli/supervision.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::cli;
using distlock::testing::TemporaryFolder;
using namespace std::chrono_literals;

namespace {

/// A command that ignores SIGTERM, and makes this file once it does.
Command stubborn(const std::filesystem::path& ready) {
  const std::string script =
      "trap '' TERM; : >" + ready.string() + "; while :; do sleep 0.01; done";
  return {.words = {"sh", "-c", script}, .environment = {}};
}

}  // namespace

TEST_CASE("a deadline that comes nearer during the grace ends a command before its grace does",
          "[cli][child][R9][M5]") {
  Keeper keeper;
  const Signals signals;
  constexpr EndingPlan plan{
      .on_loss = OnLoss::terminate, .grace = 1h, .margin = 10s, .look_every = 10ms};
  const TemporaryFolder folder;
  const auto ready = folder.path() / "ready";
  int looks = 0;
  const auto valid_until = [&] {
    const SteadyTime now = host_clock()->steady_now();
    if (!std::filesystem::exists(ready)) return now + 3h;
    // The first look of the grace is the one that begins it.
    return ++looks > 1 ? now : now + plan.grace + plan.margin;
  };
  const Ending ending = run_to_end(stubborn(ready), signals, {valid_until, {}, plan}, keeper);
  CHECK(ending.by_signal == SIGKILL);
  CHECK(looks > 1);
}

TEST_CASE("a command whose deadline has passed unseen gets no grace", "[cli][child][R9][M5]") {
  Keeper keeper;
  const Signals signals;
  constexpr EndingPlan plan{
      .on_loss = OnLoss::terminate, .grace = 1h, .margin = 10s, .look_every = 1h};
  std::stop_source lost;
  std::atomic<bool> ran_out = false;
  std::jthread losing;
  int looks = 0;
  const auto valid_until = [&] {
    if (++looks == 3) {  // The first look behind the fork.
      losing = std::jthread([&] {
        ran_out = true;
        lost.request_stop();
      });
    }
    return ran_out ? SteadyTime::min() : host_clock()->steady_now() + 3h;
  };
  const Ending ending =
      run_to_end(stubborn("/dev/null"), signals,
                 {valid_until, lost.get_token(), plan, [&] { return ran_out.load(); }}, keeper);
  CHECK(ending.by_signal == SIGKILL);
  CHECK(ending.cut_short);
}
