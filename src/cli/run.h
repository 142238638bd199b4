#pragma once

#include <functional>
#include <iosfwd>
#include <optional>

#include "cli/arguments.h"
#include "cli/child_process.h"
#include "distlock/distributed_lock.h"

namespace distlock::cli {

/// The needs of `run` besides the lock.
struct RunContext {
  /// Runs a command to its end. Errors: those of ChildProcess() and ended().
  std::function<Ending(const Command&)> spawn;
  std::stop_token stop;
  /// Ends the watch for signals that `stop` stands for. Gives the number of the signal that came.
  std::function<std::optional<int>()> end_waiting;
  std::ostream& err;
  bool err_is_terminal = false;
  std::chrono::milliseconds waited{0};  ///< For the store; taken off the wait for the lock.
};

/// The options of the lock that `run` holds.
LockOptions lock_options(const RunArguments& arguments);

/// Says that signal `number` ended the wait. Gives the exit status.
int tell_interrupted(const RunArguments& arguments, int number, std::ostream& err);

/// distlock run NAME -- COMMAND...: holds NAME while COMMAND runs, and gives COMMAND's status.
/// Writes nothing to stdout, which is COMMAND's.
/// Errors: those of DistributedLock::lock().
int run(const RunArguments& arguments, DistributedLock& lock, const RunContext& context);

}  // namespace distlock::cli
