#include "cli/supervision.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/descendants.h"
#include "cli/exit_status.h"
#include "command_end.h"
#include "no_descriptors.h"
#include "support/leave.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::cli;
using distlock::testing::TemporaryFolder;
using namespace std::chrono_literals;

namespace {

// Everything has time enough on a machine that stands still for a while: a command to end when it
// is asked to, and to be gone when it is killed.
constexpr EndingPlan kPlan{
    .on_loss = OnLoss::terminate, .grace = 10s, .margin = 10s, .look_every = 1h};

/// A hold that a test lets pass.
struct Hold {
  EndingPlan plan = kPlan;
  SteadyTime until = host_clock()->steady_now() + 1h;
  std::stop_source lost;

  Guarded guarded() {
    return {[this] { return until; }, lost.get_token(), plan};
  }
};

/// A hold that passes once its command is ready, which makes a file then.
class PassingHold : public Hold {
 public:
  explicit PassingHold(std::chrono::milliseconds grace) {
    plan.grace = grace;
    plan.look_every = 10ms;
  }

  /// Of a shell that is ready now.
  std::string is_ready() const { return ": >" + ready_.string() + "; "; }
  Guarded guarded() {
    return {[this] { return look(); }, lost.get_token(), plan};
  }
  SteadyTime look() {
    if (!passes_ && std::filesystem::exists(ready_)) {
      until = host_clock()->steady_now() + 200ms + plan.grace + plan.margin;
      passes_ = true;
    }
    return until;
  }

 private:
  const TemporaryFolder folder_;
  const std::filesystem::path ready_ = folder_.path() / "ready";
  bool passes_ = false;
};

Command shell(const std::string& script) {
  return {.words = {"sh", "-c", script}, .environment = {}};
}

/// Ends when it is told to, but for what it has started. Ready when both have their handlers.
std::string stubborn_child_of(const PassingHold& hold) {
  return "trap 'exit 7' TERM; (trap '' TERM; " + hold.is_ready() +
         "while :; do sleep 0.01; done) & while :; do sleep 0.01; done";
}

/// Whether the keeper of a tool that stood still right after the fork, until its deadline, knew
/// that deadline. Nothing: it had passed before the fork.
std::optional<bool> keeper_knew_a_deadline_in(std::chrono::milliseconds time_left) {
  Keeper keeper;
  const Signals signals;
  const EndingPlan plan{
      .on_loss = OnLoss::terminate, .grace = 0ms, .margin = 8ms, .look_every = 1h};
  const SteadyTime until = host_clock()->steady_now() + time_left;
  int looks = 0;
  std::optional<bool> knew;
  const auto valid_until = [&] {
    if (++looks == 3) {
      while (host_clock()->steady_now() < until) std::this_thread::yield();
      knew = keeper.time_is_over(Keeper::kernel_ahead());
    }
    return until;
  };
  run_to_end(kSleep, signals, {valid_until, {}, plan}, keeper);
  return knew;
}

/// Runs a command as the first process of a terminal, whose ^C comes before the command's start.
[[noreturn]] void run_after_interrupt() {
  constexpr int kMinute = 60'000;
  signal(SIGINT, SIG_DFL);
  Keeper keeper;
  const Signals signals;
  if (write(STDOUT_FILENO, "\n", 1) != 1) distlock::testing::leave(98);
  pollfd waited{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, kMinute) != 1) distlock::testing::leave(99);
  const Ending ending = run_to_end(shell("exit 7"), signals, Hold().guarded(), keeper);
  distlock::testing::leave(ending.exit_status);
}

}  // namespace

TEST_CASE("a command whose hold has ended is not started", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  Hold hold;
  hold.plan.on_loss = GENERATE(OnLoss::terminate, OnLoss::ignore);
  for (const SteadyTime until : {SteadyTime::min(), host_clock()->steady_now()}) {
    hold.until = until;
    const Ending ending =
        run_to_end({.words = {"/nonexistent"}, .environment = {}}, signals, hold.guarded(), keeper);
    CHECK(ending.cut_short);
    CHECK(ending.exit_status == kLockLost);
    CHECK_FALSE(ending.begun);
  }
}

TEST_CASE("a command is told of a deadline that draws near", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  PassingHold hold(kPlan.grace);
  const std::string script =
      "trap 'exit 7' TERM; " + hold.is_ready() + "while :; do sleep 0.01; done";
  const Ending ending = run_to_end(shell(script), signals, hold.guarded(), keeper);
  CHECK(ending.exit_status == 7);
  CHECK(ending.cut_short);
  CHECK(host_clock()->steady_now() < hold.until);
}

TEST_CASE("a tool that stands still right after the fork has told its keeper the deadline",
          "[cli][child][R9]") {
  std::optional<bool> knew;
  for (auto time_left = 300ms; !knew; time_left *= 2) {
    knew = keeper_knew_a_deadline_in(time_left);
  }
  CHECK(*knew);
}

TEST_CASE("all that a command has started is gone before the deadline", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  PassingHold hold(100ms);
  const std::string script = "trap '' TERM; (setsid sleep 99 &) ; sleep 99 & " + hold.is_ready() +
                             "while :; do kill -STOP $$; done";
  const Ending ending = run_to_end(shell(script), signals, hold.guarded(), keeper);
  CHECK(ending.by_signal == SIGKILL);
  CHECK(ending.cut_short);
  CHECK(descendants_of(getpid(), keeper.process()).empty());
  CHECK(host_clock()->steady_now() < hold.until);
}

TEST_CASE("a command outlasts its first lease if pings move the deadline on", "[cli][child][R9]") {
  const Signals signals;
  const EndingPlan plan{
      .on_loss = OnLoss::terminate, .grace = 100ms, .margin = 100ms, .look_every = 100ms};
  // A machine that stands still for nearly a lease shows nothing.
  for (int attempt = 0;; ++attempt) {
    REQUIRE(attempt < 10);
    Keeper keeper;
    SteadyTime looked_at = host_clock()->steady_now();
    SteadyTime::duration stood_still{};
    const auto renewed = [&] {
      const SteadyTime now = host_clock()->steady_now();
      stood_still = std::max(stood_still, now - std::exchange(looked_at, now));
      return now + 3s;
    };
    const Ending ending =
        run_to_end(shell("sleep 4; exit 7"), signals, {renewed, {}, plan}, keeper);
    if (stood_still > 2s) continue;
    CHECK(ending.exit_status == 7);
    CHECK_FALSE(ending.cut_short);
    return;
  }
}

TEST_CASE("a command that ended when it was told to is not the end of what it has started",
          "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  PassingHold hold(5s);
  const Ending ending = run_to_end(shell(stubborn_child_of(hold)), signals, hold.guarded(), keeper);
  const auto left = descendants_of(getpid(), keeper.process());
  for (const pid_t process : left) kill(process, SIGKILL);
  CHECK(ending.exit_status == 7);
  CHECK(ending.cut_short);
  CHECK(left.empty());
}

TEST_CASE(
    "a loss ends the group of a command that has ended also where no process can be looked up",
    "[cli][child][unsanitized][R9]") {
  Keeper keeper;
  const Signals signals;
  PassingHold hold(5s);
  std::optional<NoDescriptors> limit;
  const auto limited_at_the_end = [&] {
    if (limit) return hold.until;
    const SteadyTime until = hold.look();
    if (host_clock()->steady_now() >= until - hold.plan.margin - hold.plan.grace) limit.emplace();
    return until;
  };
  const Ending ending = run_to_end(shell(stubborn_child_of(hold)), signals,
                                   {limited_at_the_end, {}, hold.plan}, keeper);
  limit.reset();
  const auto left = descendants_of(getpid(), keeper.process());
  for (const pid_t process : left) kill(process, SIGKILL);
  CHECK(ending.exit_status == 7);
  CHECK(ending.cut_short);
  CHECK(left.empty());
}

TEST_CASE("background processes of a command live on if the lock was not lost", "[cli][child]") {
  Keeper keeper;
  const Signals signals;
  Hold hold;
  const Ending ending = run_to_end(shell("sleep 99 &"), signals, hold.guarded(), keeper);
  CHECK(ending.exit_status == 0);
  CHECK_FALSE(ending.cut_short);
  const auto left = descendants_of(getpid(), keeper.process());
  REQUIRE(left.size() == 1);
  kill(left.front(), SIGKILL);
}

TEST_CASE("a command ends before the deadline also if its keeper was killed or stopped",
          "[cli][child][R9]") {
  const int signal = GENERATE(SIGKILL, SIGSTOP);
  Keeper keeper;
  const Signals signals;
  PassingHold hold(100ms);
  kill(keeper.id(), signal);
  const std::string script = "trap '' TERM; " + hold.is_ready() + "while :; do sleep 0.01; done";
  const Ending ending = run_to_end(shell(script), signals, hold.guarded(), keeper);
  CHECK(ending.by_signal == SIGKILL);
  CHECK(host_clock()->steady_now() < hold.until);
}

TEST_CASE("^C that comes between a wait and the command's start is the command's",
          "[cli][child][R15]") {
  int terminal = -1;
  const pid_t tool = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (tool == 0) run_after_interrupt();
  REQUIRE(tool > 0);
  char ready = 0;
  CHECK(read(terminal, &ready, 1) == 1);
  CHECK(write(terminal, "\x03", 1) == 1);
  int status = 0;
  CHECK(waitpid(tool, &status, 0) == tool);
  CHECK(WEXITSTATUS(status) == kSignalled + SIGINT);
  close(terminal);
}

TEST_CASE("a loss ends the command at once, however rarely its deadline is looked at",
          "[cli][child][R9]") {
  auto* const before = signal(SIGTERM, SIG_DFL);  // Until its exec the command has our handlers.
  Keeper keeper;
  const Signals signals;
  std::stop_source lost;
  std::atomic<bool> is_lost = false;
  std::jthread losing;
  int looks = 0;
  const auto valid_until = [&] {
    const SteadyTime until = is_lost ? SteadyTime::min() : host_clock()->steady_now() + 1h;
    // The first look behind the fork. The next one is an hour away.
    if (++looks == 3) {
      losing = std::jthread([&] {
        is_lost = true;
        lost.request_stop();
      });
    }
    return until;
  };
  const Ending ending = run_to_end({.words = {"sleep", "20"}, .environment = {}}, signals,
                                   {valid_until, lost.get_token(), kPlan}, keeper);
  CHECK(ending.by_signal == SIGTERM);
  CHECK(ending.cut_short);
  signal(SIGTERM, before);
}
