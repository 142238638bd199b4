#pragma once

#include <string>

namespace distlock::testing {

/// Where workers count, and with which program.
struct Scene {
  std::string worker;
  std::string locks;
  std::string resource;
};

/// The fates of holders that were stopped beyond their lease, between a read and its write.
/// Meanwhile another holder took the lock over and counted up to 2.
struct StoppedHolders {
  int refused = 0;    ///< Its write was refused, and the number is 2.
  int corrupted = 0;  ///< Its write came through, and the number is 1 again.
};

/// Lets `runs` of them happen, each with processes and a lock of its own, some at the same time.
/// Throws if one goes neither way.
StoppedHolders stop_holders(const Scene& scene, bool guarded, int runs);

}  // namespace distlock::testing
