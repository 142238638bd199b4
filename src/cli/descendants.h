#pragma once

#include <sys/types.h>

#include <vector>

namespace distlock::cli {

/// The processes that descend from `root` and still run, as /proc shows them, but for the child
/// `spared`. A process that is forked or loses its parent meanwhile may be missing: look again
/// until none is left.
std::vector<pid_t> descendants_of(pid_t root, pid_t spared);

}  // namespace distlock::cli
