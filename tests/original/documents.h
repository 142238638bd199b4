#pragma once

#include <string_view>

#include "stores/document.h"

namespace distlock::original {

inline const Value* field_of(const Document& document, std::string_view name) {
  for (const auto& [key, value] : document) {
    if (key == name) return &value;
  }
  return nullptr;
}

inline void set_field(Document& document, std::string_view name, Value value) {
  for (auto& [key, held] : document) {
    if (key != name) continue;
    held = std::move(value);
    return;
  }
  document.emplace_back(name, std::move(value));
}

/// The original takes what is no number for 0.
inline bool taken(const Document& lock) {
  const Value* state = field_of(lock, "state");
  return state != nullptr && state_of(*state).value_or(LockState::free) != LockState::free;
}

}  // namespace distlock::original
