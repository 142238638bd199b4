#pragma once

#include "support/descriptor_limit.h"

namespace distlock::cli {

/// While it lives, nothing can be opened.
class NoDescriptors {
 public:
  /// `process`: 0 is this one.
  explicit NoDescriptors(pid_t process = 0) : limit_(kOfStreams, process) {}

 private:
  // Those of the standard streams are in use. With fewer, poll() would fail too.
  static constexpr rlim_t kOfStreams = 3;

  distlock::testing::DescriptorLimit limit_;
};

}  // namespace distlock::cli
