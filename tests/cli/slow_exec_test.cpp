#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

#include "cli/supervision.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

constexpr EndingPlan kSlowPlan{
    .on_loss = OnLoss::terminate, .grace = 2s, .margin = 2s, .look_every = 100ms};

/// A program whose exec waits, as on a network's file system, until it is let go: the kernel asks
/// this process first, which has a lease on the file. Until then the child has our handlers, of
/// which the tool has none, and Catch one of SIGTERM.
class SlowProgram {
 public:
  /// `told_by`: the signal that comes to this process when an exec begins to wait.
  SlowProgram(const std::string& text, int told_by) {
    std::ofstream(path()) << text;
    REQUIRE(chmod(path().c_str(), S_IRWXU) == 0);
    file_ = open(path().c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(fcntl(file_, F_SETSIG, told_by) == 0);
    REQUIRE(fcntl(file_, F_SETLEASE, F_WRLCK) == 0);
  }
  ~SlowProgram() {
    close(file_);
    signal(SIGTERM, before_);
  }
  SlowProgram(const SlowProgram&) = delete;
  SlowProgram& operator=(const SlowProgram&) = delete;

  void let_go() const { fcntl(file_, F_SETLEASE, F_UNLCK); }
  Command command() const { return {.words = {path()}, .environment = {}}; }

 private:
  std::string path() const { return folder_.path() / "program"; }

  distlock::testing::TemporaryFolder folder_;
  void (*before_)(int) = signal(SIGTERM, SIG_DFL);
  int file_ = -1;
};

// Its exec fails in the end: it does not run, however long a test waits for it.
const std::string kCannotRun = "#!/nonexistent\n";

}  // namespace

TEST_CASE("a signal ends a command whose exec takes long", "[cli][child]") {
  Keeper keeper;
  const Signals signals;
  const SlowProgram slow(kCannotRun, SIGTERM);
  const auto lasting = [] { return host_clock()->steady_now() + 1h; };
  const Ending ending = run_to_end(slow.command(), signals, {lasting, {}, kSlowPlan}, keeper);
  CHECK(ending.by_signal == SIGTERM);
  CHECK_FALSE(ending.cut_short);
}

TEST_CASE("a loss ends a command whose exec takes long", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  const SlowProgram slow(kCannotRun, SIGCHLD);
  std::stop_source lost;
  EndingPlan patient = kSlowPlan;
  patient.grace = 60s;
  int looks = 0;
  const auto lost_soon = [&] {
    if (++looks < 4) return host_clock()->steady_now() + 1h;
    lost.request_stop();
    return SteadyTime::min();
  };
  const Ending ending =
      run_to_end(slow.command(), signals, {lost_soon, lost.get_token(), patient}, keeper);
  CHECK(ending.by_signal == SIGTERM);
  CHECK(ending.cut_short);
}

TEST_CASE("pings move the deadline of a command whose exec takes long", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  const SlowProgram slow("#!/bin/sh\nexit 7\n", SIGCHLD);
  const SteadyTime first_deadline = host_clock()->steady_now() + 5s;
  bool first = true;
  const auto renewed = [&] {
    const SteadyTime now = host_clock()->steady_now();
    if (now > first_deadline) slow.let_go();
    return std::exchange(first, false) ? first_deadline : now + 60s;
  };
  const Ending ending = run_to_end(slow.command(), signals, {renewed, {}, kSlowPlan}, keeper);
  CHECK(ending.exit_status == 7);
  CHECK_FALSE(ending.cut_short);
}

TEST_CASE("an exec that fails late is a start failure", "[cli][child]") {
  Keeper keeper;
  const Signals signals;
  const SlowProgram slow(kCannotRun, SIGCHLD);
  int looks = 0;
  const auto lasting = [&] {
    if (++looks > 4) slow.let_go();
    return host_clock()->steady_now() + 1h;
  };
  try {
    run_to_end(slow.command(), signals, {lasting, {}, kSlowPlan}, keeper);
    FAIL("it started");
  } catch (const StartFailure& failure) {
    CHECK(failure.error == ENOENT);
  }
}

TEST_CASE("after a loss, too, signals go on to a command that goes on", "[cli][child][R9]") {
  Keeper keeper;
  const Signals signals;
  EndingPlan plan = kSlowPlan;
  plan.on_loss = OnLoss::ignore;
  std::stop_source lost;
  int looks = 0;
  // At the first look behind the fork.
  const auto lost_once_begun = [&] {
    if (++looks < 3) return host_clock()->steady_now() + 1h;
    lost.request_stop();
    return SteadyTime::min();
  };
  const std::string script =
      "trap 'exit 7' TERM; kill -TERM $PPID; "
      "i=0; while [ $i -lt 2000 ]; do sleep 0.01; i=$((i + 1)); done";
  const Ending ending = run_to_end({.words = {"sh", "-c", script}, .environment = {}}, signals,
                                   {lost_once_begun, lost.get_token(), plan}, keeper);
  CHECK(ending.exit_status == 7);
}
