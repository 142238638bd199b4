#pragma once

#include <string>

#include "distlock/pinger.h"
#include "distlock/record.h"

namespace distlock {

/// The environment with what its maker left out. Errors: `invalid_argument` without a store.
Environment completed(Environment environment);

/// An ObjectId: seconds of this host's clock, then 64 random bits. Unique is all that it must be.
Token new_token(const Environment& environment);

/// `process:thread:random`, as the original's, where the thread is `thread1/pid4711/ann`.
std::string new_who(const Environment& environment);

}  // namespace distlock
