#pragma once

#include <sys/types.h>

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
};

/// All that this process can see, but for threads of the kernel and for those that have ended and
/// were not waited for. A process that is forked meanwhile may be missing.
std::vector<RunningProcess> running_processes();

/// Nothing: it has ended.
std::optional<RunningProcess> running_process(pid_t id);

/// The variables that the process was given, each with a zero at its end. Empty also while it
/// executes a program. Nothing: this process may not read them, or it has ended.
std::optional<std::string> environment_of(pid_t id);

/// The variable of the command of `distlock run` that has its hold's token, and of all that the
/// command starts.
inline constexpr std::string_view kTokenVariable = "DISTLOCK_TOKEN";

bool has_token(const std::string& environment, const std::string& token);

/// Whether a process that this one can see and read has that token.
bool some_process_has_token(const std::string& token);

}  // namespace distlock
