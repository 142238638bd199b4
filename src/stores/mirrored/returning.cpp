#include "stores/mirrored/returning.h"

#include <algorithm>

#include "stores/mirrored/identity.h"
#include "stores/mirrored/quorum.h"

namespace distlock::mirrored {
namespace {

bool has_great_fence(const Listed<LockRecord>& lock) {
  return lock.record && lock.record->fence >= kGreatFence;
}

}  // namespace

KnownFences known_fences(const std::map<std::size_t, Listing>& listings, std::size_t majority) {
  std::map<std::string, std::size_t> with_great_fence;
  for (const auto& [place, listing] : listings) {
    for (const auto& lock : listing.locks) with_great_fence[lock.id] += has_great_fence(lock);
  }
  // No lock can have the name of a nameless document (R14).
  const auto hides = [&](const Listed<LockRecord>& lock) {
    if (!lock.named) return false;
    return !lock.record || (has_great_fence(lock) && with_great_fence[lock.id] < majority);
  };
  KnownFences fences;
  for (const auto& [place, listing] : listings) {
    const auto hiding = std::find_if(listing.locks.begin(), listing.locks.end(), hides);
    if (hiding != listing.locks.end()) {
      fences.hidden.emplace(place, hiding->id);
      continue;
    }
    ++fences.known;
    for (const auto& lock : listing.locks) {
      if (lock.named) fences.greatest = std::max(fences.greatest, lock.record->fence);
    }
  }
  return fences;
}

bool carries_locks(const Listing& listing) {
  return std::any_of(listing.locks.begin(), listing.locks.end(), [](const auto& lock) {
    const bool may_be_taken = !lock.record || lock.record->taken();
    return lock.named && lock.id != kIdentityName && may_be_taken;
  });
}

}  // namespace distlock::mirrored
