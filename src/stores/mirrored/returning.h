#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "distlock/store.h"

// Listings, and what they say about a member that comes back to its set without its data (M6).
// Pure.
namespace distlock::mirrored {

/// The fences that several members know, by their listings.
struct KnownFences {
  std::size_t known = 0;  ///< How many of these members' fences are known.
  Fence greatest = 0;     ///< Of these.
  /// By the place of a member, a lock there whose fence is not known: its document is malformed, or
  /// has a great fence that fewer than `majority` of these members have (M3).
  std::map<std::size_t, std::string> hidden;
};
KnownFences known_fences(const std::map<std::size_t, Listing>& listings, std::size_t majority);

/// Whether a member has locks of its own: others than its identity, taken or malformed. A free one
/// may be what a late request of the set has left behind.
bool carries_locks(const Listing& listing);

}  // namespace distlock::mirrored
