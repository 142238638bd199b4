#pragma once

#include <sys/types.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace distlock::cli {

struct Descendants {
  std::vector<pid_t> running;
  bool all = true;  ///< False: there may be others that cannot be seen.
};

/// A process, told from a later one that gets its number.
struct ProcessIdentity {
  pid_t id = 0;
  /// Ticks since boot. Nothing: /proc does not show it.
  std::optional<std::int64_t> started = {};
};

/// Of a process that runs.
ProcessIdentity identity_of(pid_t id);

/// The processes that descend from `root` and still run, as /proc shows them. Not the child
/// `spared`, which may have ended, nor children that are older: a shell that has executed `root`
/// may have had children of its own, and they are none of a command that came after `spared`. A
/// process that is forked or loses its parent meanwhile may be missing: look again until none is
/// left.
Descendants look_for_descendants(pid_t root, const ProcessIdentity& spared);

/// Those that can be seen.
std::vector<pid_t> descendants_of(pid_t root, const ProcessIdentity& spared);

/// Says so if /proc is not there, or is that of another namespace: then a loss ends less.
void warn_of_hidden_descendants(std::ostream& err, const std::string& proc = "/proc");

}  // namespace distlock::cli
