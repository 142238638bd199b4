#pragma once

#include <string_view>

#include "stores/memory/memory_tables.h"

namespace distlock::testing {

/// Sets a field that the document has; one that it has not stays away.
inline void replace_field(Document& document, std::string_view field, const Value& value) {
  if (find_field(document, field) != nullptr) set_field(document, field, value);
}

/// Sets a field of a stored lock, as anybody who writes to the database may.
inline void tamper(MemoryTables& tables, std::string_view lock, std::string_view field,
                   const Value& value) {
  Document document = tables.raw_lock(lock).value();
  replace_field(document, field, value);
  tables.put_lock(document);
}

}  // namespace distlock::testing
