#pragma once

#include <optional>

#include "distlock/store.h"

namespace distlock {

/// From what a member of a mirrored store is claimed where nobody has the lock (M2, M9): exactly
/// from what a look has shown. Nothing where somebody has it, unless that hold is over.
inline std::optional<ClaimBasis> basis_if_free(const Inspection& seen) {
  if (!seen.lock) return FromAbsent{};
  if (!seen.lock->taken()) return FromFree{seen.lock->ts};
  if (seen.over) return FromHold{*seen.lock->ts, seen.lock->when};
  return std::nullopt;
}

}  // namespace distlock
