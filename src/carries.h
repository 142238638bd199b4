#pragma once

#include <optional>

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

}  // namespace distlock
