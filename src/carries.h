#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

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

/// Whether each of the members that show the hold of `ts` names `process` as its holder. Otherwise
/// somebody has edited it on some.
inline bool all_name(std::string_view process, const std::vector<Inspection>& members,
                     const std::optional<Token>& ts) {
  return std::all_of(members.begin(), members.end(), [&](const Inspection& member) {
    return !carries(member, ts) || member.lock->process == process;
  });
}

}  // namespace distlock
