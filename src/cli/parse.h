#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace distlock::cli {

/// Reads a command line, without the program's own name. A valued option that is not on it is
/// taken from the environment: `DISTLOCK_` and its long name.
Arguments parse_arguments(const std::vector<std::string>& words, const GetEnvironment& get);

}  // namespace distlock::cli
