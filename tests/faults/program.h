#pragma once

#include <chrono>
#include <stop_token>

namespace faults {

/// Lets time pass, or ends early.
void pass_time(std::chrono::nanoseconds time, const std::stop_token& stop);

/// Makes SIGTERM stop `end`, which has to live as long as the program. No other thread ever gets
/// the signal, if this is called before there are any.
void end_on_signal(std::stop_source& end);

}  // namespace faults
