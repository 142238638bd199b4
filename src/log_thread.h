#pragma once

#include <string>

#include "distlock/log.h"

// How records of the library's log reach sinks: in order, on a thread of the library's own, which
// starts with the first record. A sink that blocks holds up no thread that logs.
namespace distlock::log {

/// Whether any sink may want a record of that level.
bool wanted(LogLevel level) noexcept;

/// Waits for no sink.
void hand_over(LogLevel level, std::string text) noexcept;

}  // namespace distlock::log
