#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace distlock::cli {

/// Parses the words behind `run`. Throws Usage or Help (command_options.h).
Arguments parse_run(const std::vector<std::string>& words, const GetEnvironment& get);

}  // namespace distlock::cli
