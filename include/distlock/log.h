#pragma once

#include "distlock/export.h"

namespace distlock {

enum class LogLevel { debug, info, warning, error, off };

/// The least that the library logs; everything (`debug`) at first.
///
/// It logs through Boost.Log, on the channel `distlock` with Boost's trivial severities, adds no
/// sink and sets no filter. A program that sets up Boost.Log has all the control there. One that
/// does not gets every record on its standard output, which is Boost.Log's default, and calls this.
///
/// Threads: may be called at any time from any thread.
DISTLOCK_EXPORT void set_log_level(LogLevel least) noexcept;

}  // namespace distlock
