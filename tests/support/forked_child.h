#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <exception>
#include <functional>
#include <optional>

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

/// The answer of a forked child as an error, by which it was refused something, or nothing.
inline std::optional<Errc> refusal_of_child(const std::function<std::optional<Errc>()>& question,
                                            unsigned seconds) {
  const int answer = answer_of_child(
      [&] {
        const auto errc = question();
        return errc ? 1 + static_cast<int>(*errc) : 0;
      },
      seconds);
  REQUIRE(WIFEXITED(answer));
  if (WEXITSTATUS(answer) == 0) return std::nullopt;
  return static_cast<Errc>(WEXITSTATUS(answer) - 1);
}

/// How many of fifty forked children are refused. None may be for another reason than the fork.
inline int refused_of_fifty(const std::function<std::optional<Errc>()>& refusal_of_one) {
  int refused = 0;
  for (int i = 0; i < 50; ++i) {
    const auto refusal = refusal_of_one();
    REQUIRE(refusal.value_or(Errc::forked) == Errc::forked);
    refused += refusal ? 1 : 0;
  }
  return refused;
}

inline bool says_forked(const std::function<void()>& call) {
  return thrown_by([&] { return call(), 0; }) == Errc::forked;
}

}  // namespace distlock::testing
