#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "distlock/store.h"

// Listings, and what they say about a member that comes back to its set without its data (M6).
// Pure.
namespace distlock::mirrored {

/// By the place of a member.
using ListingsByPlace = std::map<std::size_t, Listing>;

/// The fences that several members tell, by their listings. A malformed document hides its fence if
/// that is not well-formed either. So does a document with a great one that fewer than `majority`
/// of these members have (M3). A member whose identity hides its fence tells that of no lock.
struct KnownFences {
  std::size_t known = 0;  ///< At least so many of these members tell the fence of each lock.
  Fence greatest = 0;     ///< Of those that are told.
  /// By the place of a member, a lock whose fence it hides: one that fewer than `majority` tell, or
  /// its identity.
  std::map<std::size_t, std::string> hidden;
};
KnownFences known_fences(const ListingsByPlace& listings, std::size_t majority);

/// Such a document in words: that of `lock`, on the member `where`.
std::string hidden_in_words(const std::string& lock, const std::string& where);

/// Whether a member has locks of its own: others than its identity, taken or malformed. A free one
/// may be what a late request of the set has left behind.
bool carries_locks(const Listing& listing);

}  // namespace distlock::mirrored
