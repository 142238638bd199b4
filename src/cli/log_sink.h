#pragma once

#include "cli/arguments.h"

namespace distlock::cli {

/// Sends what the library logs to the standard error stream: warnings and errors, of which those
/// that repeat are summed up; or everything if `verbose`; or nothing if `quiet`.
void add_log_sink(Verbosity verbosity);

}  // namespace distlock::cli
