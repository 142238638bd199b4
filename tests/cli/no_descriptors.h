#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <catch2/catch.hpp>

namespace distlock::cli {

/// While it lives, nothing can be opened.
class NoDescriptors {
 public:
  /// `process`: 0 is this one.
  explicit NoDescriptors(pid_t process = 0) : process_(process) {
    REQUIRE(prlimit(process_, RLIMIT_NOFILE, nullptr, &before_) == 0);
    // Those of the standard streams are in use. With fewer, poll() would fail too.
    const rlimit none{.rlim_cur = 3, .rlim_max = before_.rlim_max};
    REQUIRE(prlimit(process_, RLIMIT_NOFILE, &none, nullptr) == 0);
  }
  ~NoDescriptors() { prlimit(process_, RLIMIT_NOFILE, &before_, nullptr); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  pid_t process_;
  rlimit before_{};
};

}  // namespace distlock::cli
