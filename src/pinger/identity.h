#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "distlock/pinger.h"
#include "distlock/record.h"

namespace distlock {

/// The environment with what its maker left out.
/// Errors: `invalid_argument` without a store, or for a process id that no lock's name could be.
Environment completed(Environment environment);

/// `host:unixSeconds:random` with 64 random bits, as two processes with one id would free each
/// other's holds. A host's name may be of any bytes: those that are not fit to be shown are
/// escaped.
std::string new_process(const Environment& environment, std::string_view host);

/// An ObjectId: seconds of this host's clock, then 64 random bits. Unique is all that it must be.
Token new_token(const Environment& environment);

/// `process:thread` of the thread with that number (thread_number.h).
std::string name_of_thread(const Environment& environment, std::uint64_t number);

/// That of the calling thread, the same in all that it does.
std::string this_thread_of(const Environment& environment);

/// `process:thread:random`, as the original's, where the thread is `thread1/pid4711/ann`.
std::string new_who(const Environment& environment);

}  // namespace distlock
