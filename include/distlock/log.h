#pragma once

#include <chrono>

#include "distlock/export.h"

// The library logs through Boost.Log, on the channel `distlock` with Boost's trivial severities. It
// adds no sink and sets no filter: a program that sets up Boost.Log has all the control there. A
// program that has no sink gets warnings and errors on standard error; there a record that
// repeats is written every 10 s at most, with how often it came.
//
// Records reach sinks in order, on a thread of the library's own. A sink that is slow or blocks
// holds up no call of the library, no ping and no announcement. While more than a megabyte waits
// for sinks, records are dropped; their number is logged afterwards. The end of the program waits
// at most a second for sinks.
namespace distlock {

enum class LogLevel { debug, info, warning, error, off };

/// The least that the library logs. By default that is everything (`debug`) for sinks of the
/// program's, and `warning` on standard error.
///
/// Threads: may be called at any time from any thread.
DISTLOCK_EXPORT void set_log_level(LogLevel least) noexcept;

/// Waits for at most `most` until all records so far have reached the sinks. Gives whether they
/// have. For a program that ends without destructors, or is about to change its sinks. A sink that
/// calls it gets false at once.
///
/// Threads: may be called at any time from any thread.
DISTLOCK_EXPORT bool flush_log(std::chrono::milliseconds most) noexcept;

}  // namespace distlock
