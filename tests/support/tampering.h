#pragma once

#include <string_view>

#include "stores/memory_tables.h"

namespace distlock::testing {

/// Sets a field of a stored lock, as anybody who writes to the database may.
inline void tamper(MemoryTables& tables, std::string_view lock, std::string_view field,
                   const Value& value) {
  Document document = tables.raw_lock(lock).value();
  for (auto& [name, old] : document) {
    if (name == field) old = value;
  }
  tables.put_lock(document);
}

}  // namespace distlock::testing
