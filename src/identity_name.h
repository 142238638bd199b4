#pragma once

#include <string_view>

#include "distlock/store.h"

namespace distlock {

/// The lock under whose name a member of a mirrored store says of which set it is (M6).
inline constexpr std::string_view kIdentityName = "distlock: member of a mirrored store";
/// The beginning of such a document's `process`; behind it the set stands.
inline constexpr std::string_view kIdentityProcess = "mirrored store ";

/// Whether that document says that the store is a member of some set, or kept out of it.
inline bool shows_identity(const LockRecord& document) {
  return document.taken() && document.process.starts_with(kIdentityProcess);
}

}  // namespace distlock
