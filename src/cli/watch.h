#pragma once

#include <stop_token>

#include "cli/arguments.h"
#include "cli/status.h"
#include "cli/streams.h"

namespace distlock::cli {

/// distlock list --watch: the list every second, on a terminal in place, until a stop is requested
/// or nobody reads it any more. A failure is shown, and the call tried again. Gives 0.
int watch_list(const ListArguments& arguments, const Place& place, const Streams& streams,
               const std::stop_token& stop = {});

}  // namespace distlock::cli
