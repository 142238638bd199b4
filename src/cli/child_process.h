#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/descendants.h"
#include "cli/keeper.h"
#include "cli/signals.h"

namespace distlock::cli {

struct Command {
  std::vector<std::string> words;  ///< Program, found along PATH, and arguments.
  std::vector<std::pair<std::string, std::string>> environment;  ///< Added to our own.
  std::string token = {};  ///< Of its hold, as its DISTLOCK_TOKEN.
};

/// How a child ended.
struct Ending {
  int exit_status = 0;           ///< Its own, or 128 + n.
  std::optional<int> by_signal;  ///< n, if signal n ended it.
  bool cut_short = false;        ///< For its lock was lost, or about to be.
  bool begun = true;             ///< False: it was cut short before its start.
};

/// The command could not be started.
struct StartFailure {
  int error = 0;  ///< errno
};

using LookForDescendants = std::function<Descendants(pid_t root, const ProcessIdentity& spared)>;

/// A running command that dies with this process.
///
/// With a terminal among its standard streams it stays in our process group, as under flock(1). So
/// the terminal treats it, pipelines and the script around us as without `distlock`: ^C, ^Z, `fg`,
/// and its turn to read. (A foreground group of its own would make us a shell that has to pass the
/// terminal to and fro, and break `distlock run ... | less`.) Without one it leads a group of its
/// own, so that a signal reaches all that it has started.
///
/// This process becomes the reaper of all that the command starts. So a loss also ends processes
/// that have left the group or lost their parent.
///
/// Threads: start it from the main thread, which PR_SET_PDEATHSIG follows; one thread uses it.
class ChildProcess {
 public:
  /// Signals that came before its start go to it as well. Does not wait for the command's exec.
  /// Errors: std::system_error if no process can be made.
  ChildProcess(const Command& command, const Signals& signals, const Keeper& keeper);
  /// Kills and reaps it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Sends a signal to the command and, if it leads a group, to all of that. Also when it has
  /// ended, as long as a child of this process is in the group.
  void send(int signal) const;

  /// Sends a signal to the command, and to all that descends from this process but for the keeper.
  void send_to_all(int signal);

  /// How it ended, or nothing if it still runs. SIGCHLD tells when to look.
  /// Errors: StartFailure, thrown, if the command could not be executed.
  std::optional<Ending> ended();

  /// Whether something that it has started still runs, other than what we may not send signals to.
  /// If `look` cannot see all, there may be something until SIGKILL was sent to all.
  bool left_something(const LookForDescendants& look = look_for_descendants);

  pid_t id() const { return id_; }

  /// Not where the command has made itself a group of its own, as timeout(1) does.
  bool is_in_our_group() const;

 private:
  void pass_on_earlier(const Signals& signals) const;
  void check_started() const;
  bool has_group() const;
  bool sees_something(const LookForDescendants& look) const;
  bool reap();

  pid_t id_ = -1;
  ProcessIdentity keeper_;
  int report_ = -1;  ///< Of a failed exec.
  bool leads_group_ = false;
  bool killed_ = false;  ///< SIGKILL was sent to all.
  std::optional<Ending> ending_;
};

}  // namespace distlock::cli
