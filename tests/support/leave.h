#pragma once

#include <unistd.h>

#ifdef DISTLOCK_COVERAGE
extern "C" void __gcov_dump();
#endif

namespace distlock::testing {

/// Ends a child of fork() as _exit() does, which runs nothing of its parent's, but leaves what
/// tools/coverage counts.
[[noreturn]] inline void leave(int status) {
#ifdef DISTLOCK_COVERAGE
  __gcov_dump();
#endif
  _exit(status);
}

}  // namespace distlock::testing
