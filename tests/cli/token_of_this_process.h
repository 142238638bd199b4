#pragma once

#include <unistd.h>

#include <string>

namespace distlock::cli {

/// The token of a hold that no other test has. Tests that run beside this one look at all processes
/// of the machine, too.
inline std::string token_of_this_process() {
  std::string token = "0123456789abcdef01234567";
  const std::string number = std::to_string(getpid());
  return token.replace(token.size() - number.size(), number.size(), number);
}

}  // namespace distlock::cli
