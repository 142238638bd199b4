#include "cli/signals.h"

#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "cli/exit_status.h"
#include "cli/secrets.h"
#include "cli/supervision.h"
#include "support/forked_child.h"

using namespace distlock::cli;
using distlock::testing::answer_of_child;

namespace {

constexpr std::array kOurs{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD};

bool blocks_any() {
  sigset_t mask;
  REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &mask) == 0);
  bool any = false;
  for (const int number : kOurs) any = any || sigismember(&mask, number) == 1;
  return any;
}

}  // namespace

TEST_CASE("a signal that nobody has taken at the end ends nothing", "[cli][child]") {
  REQUIRE_FALSE(blocks_any());
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    auto* const before = signal(number, SIG_DFL);  // A shell ignores two in the background.
    {
      const Signals signals;
      raise(number);
      raise(SIGCHLD);
    }
    CHECK_FALSE(blocks_any());
    signal(number, before);
  }
}

TEST_CASE("a signal after the last wait for signals ends nothing where they stay blocked",
          "[cli][child][R15]") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    CAPTURE(number);
    const int status = answer_of_child([&] {
      forbid_core_files();
      signal(number, SIG_DFL);
      { const Signals signals(AfterSignals::blocked); }
      raise(number);
      return 5;
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 5);
  }
}

TEST_CASE("the first process of a container ends by the signals that end others", "[cli]") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    CAPTURE(number);
    const auto status_of = [&](pid_t process, void (*before)(int)) {
      return answer_of_child([&] {
        forbid_core_files();
        signal(number, before);
        heed_signals_as_first_process(process);
        raise(number);
        return 0;
      });
    };
    CHECK(WEXITSTATUS(status_of(1, SIG_DFL)) == kSignalled + number);
    CHECK(status_of(1, SIG_IGN) == 0);
    CHECK(WTERMSIG(status_of(2, SIG_DFL)) == number);
    const int of_command = answer_of_child([&] {
      forbid_core_files();
      signal(number, SIG_DFL);
      heed_signals_as_first_process(1);
      restore_dispositions();
      raise(number);
      return 0;
    });
    CHECK(WTERMSIG(of_command) == number);
  }
}

TEST_CASE("a signal reaches a command that has left the group which it led", "[cli][child]") {
  const Signals signals;
  Keeper keeper;
  const std::string script =
      "setpgrp(0, getpgrp(getppid())) or exit 2; $SIG{TERM} = sub { exit 42 }; alarm 20; "
      "kill 'TERM', getppid(); sleep 1 while 1;";
  const auto lasting = [] { return distlock::host_clock()->steady_now() + std::chrono::hours{1}; };
  const Ending ending = run_to_end({.words = {"perl", "-e", script}, .environment = {}}, signals,
                                   {lasting, {}, {.look_every = std::chrono::hours{1}}}, keeper);
  CHECK(ending.exit_status == 42);
}
