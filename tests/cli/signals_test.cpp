#include "cli/signals.h"

#include <signal.h>

#include <array>
#include <catch2/catch.hpp>

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
