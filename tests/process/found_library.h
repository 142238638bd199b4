#pragma once

#include <glob.h>

#include <stdexcept>
#include <string>

namespace distlock::testing {

/// A library of the system that a test has loaded before a program's own.
inline std::string found_library(const std::string& pattern) {
  glob_t found{};
  const int result = glob(pattern.c_str(), 0, nullptr, &found);
  const std::string path = result == 0 ? found.gl_pathv[0] : "";
  globfree(&found);
  if (path.empty()) throw std::runtime_error(pattern + " is needed: install it (tools/setup)");
  return path;
}

}  // namespace distlock::testing
