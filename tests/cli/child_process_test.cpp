#include "cli/child_process.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "cli/boot_timer.h"
#include "cli/supervision.h"
#include "command_end.h"
#include "no_descriptors.h"
#include "support/forked_child.h"
#include "support/temporary_folder.h"

using namespace distlock::cli;

namespace {

/// Under a lock that lasts.
Ending run_to_end(const Command& command, const Signals& signals) {
  Keeper keeper;
  const auto valid_until = [] { return distlock::SteadyTime{std::chrono::years{200}}; };
  return run_to_end(command, signals, {valid_until, {}, {.look_every = std::chrono::hours{1}}},
                    keeper);
}

/// While it lives, standard input is a terminal, so that a command leads no group.
class Terminal {
 public:
  Terminal() {
    REQUIRE(openpty(&ends_[0], &ends_[1], nullptr, nullptr, nullptr) == 0);
    REQUIRE(dup2(ends_[1], STDIN_FILENO) == STDIN_FILENO);
  }
  ~Terminal() {
    dup2(before_, STDIN_FILENO);
    for (const int end : {before_, ends_[0], ends_[1]}) close(end);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

 private:
  int before_ = dup(STDIN_FILENO);
  std::array<int, 2> ends_{};
};

bool has_pidfd(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  const std::filesystem::directory_iterator all(folder);
  return std::any_of(begin(all), end(all), [](const auto& file) {
    std::error_code gone;
    return std::filesystem::read_symlink(file, gone).string().ends_with("[pidfd]");
  });
}

}  // namespace

TEST_CASE("a child ends with its own status", "[cli][child]") {
  const Signals signals;
  CHECK(run_to_end({.words = {"sh", "-c", "exit 7"}, .environment = {}}, signals).exit_status == 7);
}

TEST_CASE("a child that a signal ended gives 128 and its number", "[cli][child]") {
  const Signals signals;
  const Ending ending =
      run_to_end({.words = {"sh", "-c", "kill -KILL $$"}, .environment = {}}, signals);
  CHECK(ending.exit_status == 128 + SIGKILL);
  CHECK(ending.by_signal == SIGKILL);
}

TEST_CASE("a child gets our environment and what is added, which wins", "[cli][child]") {
  const Signals signals;
  setenv("DISTLOCK_FENCE", "outer", 1);
  const Ending ending =
      run_to_end({.words = {"sh", "-c", "test \"$DISTLOCK_FENCE\" = 5 && test -n \"$PATH\""},
                  .environment = {{"DISTLOCK_FENCE", "5"}}},
                 signals);
  unsetenv("DISTLOCK_FENCE");
  CHECK(ending.exit_status == 0);
}

TEST_CASE("a variable that is added replaces the child's inherited value", "[cli][child]") {
  const Signals signals;
  setenv("DISTLOCK_FENCE", "outer", 1);
  // Not through a shell, which would keep one of two values.
  const auto status_of_search = [&](const std::string& variable) {
    const Command command{.words = {"grep", "-qzx", variable, "/proc/self/environ"},
                          .environment = {{"DISTLOCK_FENCE", "inner"}}};
    return run_to_end(command, signals).exit_status;
  };
  CHECK(status_of_search("DISTLOCK_FENCE=inner") == 0);
  CHECK(status_of_search("DISTLOCK_FENCE=outer") == 1);
  unsetenv("DISTLOCK_FENCE");
}

// As where this process was stopped between its look at the deadline and the fork.
TEST_CASE("a command that would begin behind its time does not begin", "[cli][child][R9]") {
  const distlock::testing::TemporaryFolder folder;
  const std::string file = folder.path() / "begun";
  const Signals signals;
  Keeper keeper;
  keeper.set_kill_at(distlock::host_clock()->steady_now() - std::chrono::seconds{1});
  ChildProcess child({.words = {"touch", file}, .environment = {}}, signals, keeper);
  std::optional<Ending> ending;
  while (!ending) ending = child.ended();
  CHECK(ending->exit_status == 128 + SIGKILL);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a command that is not there or not executable is a start failure", "[cli][child]") {
  const Signals signals;
  const distlock::testing::TemporaryFolder empty;
  try {
    run_to_end({.words = {empty.path() / "command"}, .environment = {}}, signals);
    FAIL("it started");
  } catch (const StartFailure& failure) {
    CHECK(failure.error == ENOENT);
  }
  try {
    run_to_end({.words = {"/"}, .environment = {}}, signals);
    FAIL("it started");
  } catch (const StartFailure& failure) {
    CHECK(failure.error == EACCES);
  }
}

TEST_CASE("a process without descriptors starts no command and no keeper",
          "[cli][child][unsanitized]") {
  const Signals signals;
  Keeper keeper;
  const Command command{.words = {"true"}, .environment = {}};
  const auto error_of = [](const auto& attempt) {
    const NoDescriptors limit;
    try {
      attempt();
    } catch (const std::system_error& error) {
      return error.code().value();
    }
    return 0;
  };
  CHECK(error_of([&] { ChildProcess(command, signals, keeper); }) == EMFILE);
  CHECK(error_of([] { Keeper(); }) == EMFILE);
  CHECK(error_of([] { BootTimer(); }) == EMFILE);
  CHECK(error_of([] { Signals(); }) == EMFILE);
  CHECK(error_of([&] { const StopOnSignal stop(signals); }) == EMFILE);
}

TEST_CASE("a signal to all reaches a command on a terminal also where no process can be looked up",
          "[cli][child][unsanitized][R9]") {
  const Signals signals;
  Keeper keeper;
  const Terminal terminal;
  ChildProcess child(kSleep, signals, keeper);
  {
    const NoDescriptors limit;  // Nor can /proc be read.
    child.send_to_all(SIGKILL);
  }
  CHECK(signal_that_ended(child, signals) == SIGKILL);
}

TEST_CASE("a process that was forked during a look by another that ended then is not missed",
          "[cli][child][R9]") {
  const Signals signals;
  Keeper keeper;
  ChildProcess child({.words = {"sh", "-c", "sleep 1000 &"}, .environment = {}}, signals, keeper);
  REQUIRE(end_of(child, signals));
  const auto orphans = descendants_of(getpid(), keeper.process());
  REQUIRE(orphans.size() == 1);
  int looks = 0;
  const auto look = [&](pid_t, const ProcessIdentity&) -> Descendants {
    if (++looks > 1) return {.running = {getpid()}};  // As its successor, which still runs.
    kill(orphans.front(), SIGKILL);
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(orphans.front()), &ended, WEXITED | WNOWAIT);
    return {};
  };
  CHECK(child.left_something(look));
  CHECK(looks == 2);
  CHECK_FALSE(child.left_something([](pid_t, const ProcessIdentity&) { return Descendants{}; }));
}

TEST_CASE("where not all can be seen, something may be left until a SIGKILL was sent",
          "[cli][child][R9]") {
  const Signals signals;
  Keeper keeper;
  ChildProcess child({.words = {"true"}, .environment = {}}, signals, keeper);
  REQUIRE(end_of(child, signals));
  const auto unseen = [](pid_t, const ProcessIdentity&) {
    return Descendants{.running = {}, .all = false};
  };
  child.send_to_all(SIGTERM);
  CHECK(child.left_something(unseen));
  child.send_to_all(SIGKILL);
  CHECK_FALSE(child.left_something(unseen));
}

TEST_CASE("a keeper kills a command on a terminal also where no process can be looked up",
          "[cli][child][unsanitized][R9]") {
  const Signals signals;
  Keeper keeper;
  const Terminal terminal;
  ChildProcess child(kSleep, signals, keeper);
  wait_for_sleep(keeper);
  while (!has_pidfd(keeper.id())) std::this_thread::yield();
  const NoDescriptors limit(keeper.id());
  keeper.set_kill_at(distlock::SteadyTime::min());
  CHECK(signal_that_ended(child, signals) == SIGKILL);
}

TEST_CASE("a command dies with the process that started it", "[cli][child]") {
  const Signals signals;
  Keeper keeper;
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  {
    const ChildProcess child(kSleep, signals, keeper);
    close(ends[1]);
  }
  // At its end once no process can write to it any more.
  char byte = 0;
  CHECK(read(ends[0], &byte, 1) == 0);
  close(ends[0]);
}

TEST_CASE("a child has none of the signals blocked that we wait for", "[cli][child]") {
  const Signals signals;
  const Ending ending =
      run_to_end({.words = {"sh", "-c", "kill -TERM $$"}, .environment = {}}, signals);
  CHECK(ending.by_signal == SIGTERM);
}

TEST_CASE("a signal that comes to us goes on to the child", "[cli][child]") {
  const Signals signals;
  // The shell asks for the signal itself, so that it is ready for it.
  const Ending ending = run_to_end(
      {.words = {"sh", "-c", "trap 'exit 42' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"},
       .environment = {}},
      signals);
  CHECK(ending.exit_status == 42);
}

TEST_CASE("a signal that was ignored before ends no wait", "[cli][child][R15]") {
  auto* const before = signal(SIGHUP, SIG_IGN);
  {
    const Signals signals;
    raise(SIGHUP);
    CHECK_FALSE(signals.next());
  }
  signal(SIGHUP, SIG_DFL);
  {
    const Signals signals;
    raise(SIGHUP);
    CHECK(signals.next()->number == SIGHUP);
  }
  signal(SIGHUP, before);
}

TEST_CASE("a signal that comes to us reaches all of the command's group, not its leader alone",
          "[cli][child]") {
  const Signals signals;
  // The leader heeds it only when what it waits for has ended.
  const Ending ending =
      run_to_end({.words = {"sh", "-c",
                            "trap : TERM; sh -c 'kill -TERM '$PPID'; exec sleep 20'; "
                            "test $? -gt 128 && exit 42"},
                  .environment = {}},
                 signals);
  CHECK(ending.exit_status == 42);
}

TEST_CASE("a process that we may not send signals to is not waited for", "[cli][child][R9]") {
  const int answer = distlock::testing::answer_of_child([] {
    constexpr uid_t kNobody = 65534;
    if (getuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) return 0;
    if (kill(1, 0) == 0) return 0;  // In this namespace it is ours.
    const Signals signals;
    Keeper keeper;
    ChildProcess child({.words = {"true"}, .environment = {}}, signals, keeper);
    if (!end_of(child, signals)) return 1;
    const auto look = [](pid_t, const ProcessIdentity&) { return Descendants{.running = {1}}; };
    return child.left_something(look) ? 2 : 0;
  });
  CHECK(answer == 0);
}
