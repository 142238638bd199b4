#pragma once

#include <optional>
#include <string>
#include <vector>

#include "contract/contract.h"

// Values of wrong types, for the contract of malformed documents.
namespace distlock::testing {

/// A value of each type. A store that cannot tell two types apart stores the nearest.
inline const std::vector<Value> kOneOfEach = {std::int32_t{7},     std::int64_t{7}, 7.5,
                                              std::string("text"), StoreTime{},     new_token(),
                                              Foreign{"an array"}};

enum class Type : std::size_t { int32, int64, real, text, date, object_id, foreign };

struct FieldType {
  std::string field;
  Type type;
};

/// False where the store has no such type, and has stored the nearest.
inline bool kept_its_type(const std::optional<Document>& raw, const std::string& field,
                          const Value& value) {
  const Value* held = raw ? field_of(*raw, field) : nullptr;
  return held != nullptr && held->index() == value.index();
}

}  // namespace distlock::testing
