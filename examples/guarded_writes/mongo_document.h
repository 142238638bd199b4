#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <optional>
#include <string>

#include "distlock/record.h"
#include "stamp.h"

namespace guarded {

// A resource in a document of its own, on any MongoDB, wherever the locks are. The document keeps
// the greatest stamp so far and refuses what comes from before it. No transactions, so a standalone
// will do.
//
// Errors: distlock::Error, `outcome_unknown`: whether the change was made cannot be known. It may
// be repeated with the same stamp.

/// Reads the value, 0 if there is none, and from then on keeps out all holds before this one. A
/// write that rests on a read takes a read like this one: otherwise an old holder could write
/// between the two. Nothing: refused.
std::optional<std::int64_t> read_value(mongoc_collection_t* resources, const std::string& id,
                                       const Stamp& stamp);

/// Sets the value, the first time as well.
Outcome write_value(mongoc_collection_t* resources, const std::string& id, const Stamp& stamp,
                    std::int64_t value);

/// Lets the lock's next fence be greater than `floor`, whether or not it has a document.
void raise_fence(mongoc_collection_t* locks, const std::string& lock, distlock::Fence floor);

}  // namespace guarded
