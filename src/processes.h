#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distlock {

/// A process that runs, as /proc shows it.
struct RunningProcess {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::int64_t started = 0;  ///< Ticks since boot.
  /// It executes nothing any more, in no thread, and its memory is gone. Its children may have it
  /// as their parent still.
  bool ending = false;
};

/// A look at the processes, but for threads of the kernel and for those that have ended and were
/// not waited for. A process that is forked meanwhile may be missing.
struct SeenProcesses {
  std::vector<RunningProcess> running;
  /// False: there may be others. A file could not be read or understood, or this /proc hides
  /// processes (hidepid), or is that of another namespace.
  bool all = true;
};

// `proc` is another folder in tests.
SeenProcesses running_processes(const std::string& proc = "/proc");

/// Nothing: it has ended, or cannot be looked at.
std::optional<RunningProcess> running_process(pid_t id, const std::string& proc = "/proc");

/// The variables that the process was given, each with a zero at its end. Nothing: it does not
/// tell. This process may not read them, or something else stands there, or nothing, as while it
/// executes a program; or it has ended.
std::optional<std::string> environment_of(pid_t id, const std::string& proc = "/proc");

/// The variable of the command of `distlock run` that has its hold's token, and of all that the
/// command starts.
inline constexpr std::string_view kTokenVariable = "DISTLOCK_TOKEN";

/// Its variable beside that where the run is in the command of another: the tokens of the runs
/// around it, the nearest first, with commas between them.
inline constexpr std::string_view kOuterTokensVariable = "DISTLOCK_OUTER_TOKENS";

/// Of the runs in whose command this process is, as in that variable. The furthest ones fall out:
/// a program may leave another run behind, again and again.
std::string outer_tokens();

/// In one of the two.
bool has_token(const std::string& environment, const std::string& token);

/// Whether a process may have that token, as far as can be told. It may if it does not tell, or if
/// it cannot be looked at. Not those that do not tell and are ending, or were started before
/// `given`, by CLOCK_BOOTTIME: the token is younger.
bool may_be_had(const std::string& token, std::chrono::milliseconds given,
                const std::string& proc = "/proc");

/// Of this process, by the kernel's name. Empty: the kernel does not tell.
std::string pid_namespace();

}  // namespace distlock
