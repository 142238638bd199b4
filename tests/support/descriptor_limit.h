#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace distlock::testing {

/// While it lives, a process may have descriptors with numbers below `most` alone.
class DescriptorLimit {
 public:
  /// `process`: 0 is this one.
  explicit DescriptorLimit(rlim_t most, pid_t process = 0) : process_(process) {
    REQUIRE(prlimit(process_, RLIMIT_NOFILE, nullptr, &before_) == 0);
    const rlimit few{.rlim_cur = most, .rlim_max = before_.rlim_max};
    REQUIRE(prlimit(process_, RLIMIT_NOFILE, &few, nullptr) == 0);
  }
  ~DescriptorLimit() { prlimit(process_, RLIMIT_NOFILE, &before_, nullptr); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  pid_t process_;
  rlimit before_{};
};

/// So many descriptors can be opened while it lives, or fewer where some above them are open.
inline DescriptorLimit spare_descriptors(rlim_t spare) {
  const int next = dup(STDIN_FILENO);
  REQUIRE(close(next) == 0);
  return DescriptorLimit(static_cast<rlim_t>(next) + spare);
}

}  // namespace distlock::testing
