#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace distlock::testing {

/// The number in the environment variable, or a random one. It is printed at once, for a process
/// that ends in the middle says nothing later.
inline std::uint64_t seed_from(const char* variable) {
  const char* const given = std::getenv(variable);
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::cerr << variable << '=' << seed << std::endl;
  return seed;
}

}  // namespace distlock::testing
