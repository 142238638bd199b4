#pragma once

#include <optional>
#include <string>

#include "distlock/store.h"

// Listings, and what they say about a member that comes back to its set without its data (M6).
// Pure.
namespace distlock::mirrored {

/// The greatest fence that a member knows, by its listing. Nothing if a lock's document there is
/// malformed: its fence is not known.
std::optional<Fence> greatest_fence(const Listing& listing);

/// The name of the first lock whose document there is malformed.
std::optional<std::string> malformed_lock(const Listing& listing);

/// Whether a member has locks of its own: others than its identity, taken or malformed. A free one
/// may be what a late request of the set has left behind.
bool carries_locks(const Listing& listing);

}  // namespace distlock::mirrored
