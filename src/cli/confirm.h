#pragma once

#include <string_view>

#include "cli/streams.h"

namespace distlock::cli {

/// Asks a question, and waits for a line of standard input. True if that is y, Y or yes.
bool confirm(const Streams& streams, std::string_view question);

}  // namespace distlock::cli
