#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace distlock::testing {

/// How many file descriptors this process has open.
inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

}  // namespace distlock::testing
