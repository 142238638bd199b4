#pragma once

#include <chrono>

namespace distlock {

/// Errors: `invalid_argument` if no call of a store may be limited by that. More would not fit the
/// milliseconds that drivers and servers count in 32 bits.
void check_call_limit(std::chrono::milliseconds limit);

}  // namespace distlock
