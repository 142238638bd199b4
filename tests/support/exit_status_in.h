#pragma once

#include <sys/wait.h>

namespace distlock::testing {

/// Of what waitpid() tells: the exit status, or 128 + n if signal n ended it, as a shell has it.
inline int exit_status_in(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace distlock::testing
