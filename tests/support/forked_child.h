#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <exception>
#include <functional>

#include "distlock/error.h"
#include "support/leave.h"
#include "support/thrown.h"

namespace distlock::testing {

/// The answer of a forked child: 0 if all is well. A child that hangs is ended by its alarm, after
/// `seconds`; a broken noexcept ends it, too.
inline int answer_of_child(const std::function<int()>& question, unsigned seconds = 60) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, SIG_DFL);
    std::set_terminate([] { _exit(99); });
    alarm(seconds);
    leave(question());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

inline bool says_forked(const std::function<void()>& call) {
  return thrown_by([&] { return call(), 0; }) == Errc::forked;
}

}  // namespace distlock::testing
