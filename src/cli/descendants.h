#pragma once

#include <sys/types.h>

#include <iosfwd>
#include <string>
#include <vector>

namespace distlock::cli {

struct Descendants {
  std::vector<pid_t> running;
  bool all = true;  ///< False: there may be others that cannot be seen.
};

/// The processes that descend from `root` and still run, as /proc shows them, but for the child
/// `spared` and those that are older: a shell that has executed `root` may have had children of its
/// own, and they are none of a command that came after `spared`. A process that is forked or loses
/// its parent meanwhile may be missing: look again until none is left.
Descendants look_for_descendants(pid_t root, pid_t spared);

/// Those that can be seen.
std::vector<pid_t> descendants_of(pid_t root, pid_t spared);

/// Says so if /proc is not there, or is that of another namespace: then a loss ends less.
void warn_of_hidden_descendants(std::ostream& err, const std::string& proc = "/proc");

}  // namespace distlock::cli
