#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <array>
#include <string>

namespace distlock::testing {

/// Starts a child that sleeps for long, with that variable alone, or none. -1: it could not.
inline pid_t sleeper(std::string variable = {}) {
  std::string program = "sleep";
  std::string seconds = "1000";
  const std::array<char*, 3> words{program.data(), seconds.data(), nullptr};
  const std::array<char*, 2> variables{variable.empty() ? nullptr : variable.data(), nullptr};
  pid_t id = -1;
  const int error = posix_spawnp(&id, "sleep", nullptr, nullptr, words.data(), variables.data());
  return error == 0 ? id : -1;
}

}  // namespace distlock::testing
