#pragma once

#include <string_view>

#include "stores/document.h"

namespace distlock::original {

/// The original takes what is no number for 0.
inline bool taken(const Document& lock) {
  const Value* state = find_field(lock, "state");
  return state != nullptr && state_of(*state).value_or(LockState::free) != LockState::free;
}

}  // namespace distlock::original
