#pragma once

#include <optional>
#include <string_view>

#include "distlock/record.h"
#include "distlock/store.h"

namespace distlock {

/// Whether `lock` shows the hold of `ts`.
inline bool carries(const std::optional<LockRecord>& lock, const std::optional<Token>& ts) {
  return lock && lock->taken() && lock->ts == ts;
}

/// The same of one member of a mirrored store.
inline bool carries(const Inspection& member, const std::optional<Token>& ts) {
  return carries(member.lock, ts);
}

/// Whether this member shows the hold of `ts`, and names `process` as its holder.
inline bool carries_of(std::string_view process, const Inspection& member,
                       const std::optional<Token>& ts) {
  return carries(member, ts) && member.lock->process == process;
}

/// Whether a member carries a hold with this fence for its majority. Otherwise one that the member
/// has lost may have had the same fence (M3, M6). `fence_of_lost`: as in Inspection.
inline bool carries_for_majority(Fence hold, Fence fence_of_lost) {
  return fence_of_lost == 0 || hold > fence_of_lost;
}

}  // namespace distlock
