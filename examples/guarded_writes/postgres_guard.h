#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <optional>
#include <string>

#include "stamp.h"

namespace guarded {

// A resource in a row of its own, wherever the locks are. The row keeps the greatest stamp so far
// and refuses what comes from before it.
//
// Errors: distlock::Error. `outcome_unknown`: whether the change was made cannot be known; it may
// be repeated with the same stamp. `not_applied`: the server said no. `invalid_argument`: within a
// transaction of the caller's. A lost connection is made anew, without its settings.

/// Makes the table of this example.
void make_resources(PGconn* connection);

/// Reads the value, 0 if there is none, and from then on keeps out all holds before this one. A
/// write that rests on a read takes a read like this one: otherwise an old holder could write
/// between the two. Nothing: refused.
std::optional<std::int64_t> read_value(PGconn* connection, const std::string& id,
                                       const Stamp& stamp);

/// Sets the value, the first time as well.
Outcome write_value(PGconn* connection, const std::string& id, const Stamp& stamp,
                    std::int64_t value);

}  // namespace guarded
