#pragma once

#include <string>

#include "stores/document.h"
#include "stores/memory/memory_tables.h"

namespace distlock::original {

/// The original takes what is no number for 0.
inline bool taken(const Document& lock) {
  const Value* state = find_field(lock, "state");
  return state != nullptr && state_of(*state).value_or(LockState::free) != LockState::free;
}

inline bool is_free(const Document& lock) {
  const Value* state = find_field(lock, "state");
  return state != nullptr && state_of(*state) == LockState::free;
}

/// False if there is one already.
bool insert_free_lock(MemoryTables& tables, const std::string& name);

/// By name: whoever holds it by then.
bool set_free(MemoryTables& tables, const std::string& name);

/// The fields of a claim, over what is there.
void write_claim(Document& lock, const std::string& process, StoreTime when, const Token& ts);

}  // namespace distlock::original
