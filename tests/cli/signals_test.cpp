#include "cli/signals.h"

#include <signal.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "cli/supervision.h"

using namespace distlock::cli;

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
