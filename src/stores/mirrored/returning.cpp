#include "stores/mirrored/returning.h"

#include <algorithm>
#include <set>

#include "stores/mirrored/identity.h"
#include "stores/mirrored/quorum.h"
#include "text.h"

namespace distlock::mirrored {
namespace {

using PlaceSet = std::set<std::size_t>;
using Hiding = std::map<std::string, PlaceSet>;  // By the lock's name.

std::optional<Fence> fence_told_by(const Listed<LockRecord>& lock) {
  return lock.record ? std::optional(lock.record->fence) : lock.fence;
}

bool has_great_fence(const Listed<LockRecord>& lock) { return fence_told_by(lock) >= kGreatFence; }

// No lock can have the name of a nameless document (R14).
Hiding hidden_in(const ListingsByPlace& listings, std::size_t majority) {
  std::map<std::string, std::size_t> with_great_fence;
  for (const auto& [place, listing] : listings) {
    for (const auto& lock : listing.locks) {
      with_great_fence[lock.id] += lock.named && has_great_fence(lock);
    }
  }
  const auto hides = [&](const Listed<LockRecord>& lock) {
    if (!lock.named) return false;
    const bool of_minority = has_great_fence(lock) && with_great_fence[lock.id] < majority;
    return !fence_told_by(lock) || of_minority;
  };
  Hiding all;
  for (const auto& [place, listing] : listings) {
    for (const auto& lock : listing.locks) {
      if (hides(lock)) all[lock.id].insert(place);
    }
  }
  return all;
}

// A document that hides no fence tells one.
Fence greatest_told(const Listing& listing, std::size_t place, Hiding& hiding) {
  Fence greatest = 0;
  for (const auto& lock : listing.locks) {
    const bool told = lock.named && !hiding[lock.id].contains(place);
    if (told) greatest = std::max(greatest, fence_told_by(lock).value());
  }
  return greatest;
}

}  // namespace

// Each lock by itself: the members whose document of another lock is malformed tell its fence all
// the same.
KnownFences known_fences(const ListingsByPlace& listings, std::size_t majority) {
  Hiding hiding = hidden_in(listings, majority);
  const std::string identity(kIdentityName);
  const PlaceSet strange = hiding[identity];
  KnownFences fences{.known = listings.size()};
  for (const std::size_t place : strange) fences.hidden.emplace(place, identity);
  for (const auto& [lock, places] : hiding) {
    PlaceSet silent = strange;
    silent.insert(places.begin(), places.end());
    const std::size_t known = listings.size() - silent.size();
    fences.known = std::min(fences.known, known);
    if (known >= majority) continue;
    for (const std::size_t place : places) fences.hidden.emplace(place, lock);
  }
  for (const auto& [place, listing] : listings) {
    if (strange.contains(place)) continue;
    fences.greatest = std::max(fences.greatest, greatest_told(listing, place, hiding));
  }
  return fences;
}

std::string hidden_in_words(const std::string& lock, const std::string& where) {
  return "the document of lock " + in_quotes(lock) + " on " + where +
         " is malformed, or has a fence that no other member knows";
}

bool carries_locks(const Listing& listing) {
  return std::any_of(listing.locks.begin(), listing.locks.end(), [](const auto& lock) {
    const bool may_be_taken = !lock.record || lock.record->taken();
    return lock.named && lock.id != kIdentityName && may_be_taken;
  });
}

}  // namespace distlock::mirrored
