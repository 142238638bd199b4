#pragma once

#include <string>

#include "distlock/log.h"

// The one place that knows Boost.Log.
namespace distlock::log {

/// To the sinks that the program has given Boost.Log. If it has none: to standard error, from
/// `least_on_stderr` on. Throws nothing, whatever a sink throws. One call at a time.
void write_to_sinks(LogLevel level, const std::string& text, LogLevel least_on_stderr) noexcept;

}  // namespace distlock::log
