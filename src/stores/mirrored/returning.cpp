#include "stores/mirrored/returning.h"

#include <algorithm>

#include "stores/mirrored/identity.h"

namespace distlock::mirrored {

std::optional<Fence> greatest_fence(const Listing& listing) {
  if (malformed_lock(listing)) return std::nullopt;
  Fence greatest = 0;
  for (const auto& lock : listing.locks) greatest = std::max(greatest, lock.record->fence);
  return greatest;
}

std::optional<std::string> malformed_lock(const Listing& listing) {
  for (const auto& lock : listing.locks) {
    if (!lock.record) return lock.id;
  }
  return std::nullopt;
}

bool carries_locks(const Listing& listing) {
  return std::any_of(listing.locks.begin(), listing.locks.end(), [](const auto& lock) {
    return lock.id != kIdentityName && (!lock.record || lock.record->taken());
  });
}

}  // namespace distlock::mirrored
