#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "distlock/record.h"

namespace distlock {

/// Owns a BSON document or array. Not a unique_ptr: bson_t carries an alignment attribute, which
/// GCC drops from template arguments with a warning.
class Bson {
 public:
  enum class Kind { document, array };

  explicit Bson(Kind kind = Kind::document) : document_(bson_new()), kind_(kind) {}
  explicit Bson(const bson_t* copied) : document_(bson_copy(copied)) {}
  Bson(Bson&& from) noexcept
      : document_(std::exchange(from.document_, nullptr)), kind_(from.kind_) {}
  Bson& operator=(Bson&& from) noexcept {
    std::swap(document_, from.document_);
    std::swap(kind_, from.kind_);
    return *this;
  }
  Bson(const Bson&) = delete;
  Bson& operator=(const Bson&) = delete;
  ~Bson() { bson_destroy(document_); }

  bson_t* get() const noexcept { return document_; }
  Kind kind() const noexcept { return kind_; }

  /// Canonical extended JSON, for messages and tests.
  std::string json() const;

 private:
  bson_t* document_;
  Kind kind_ = Kind::document;
};

/// A value of a command. Strings are borrowed until the document is made.
using BsonValue = std::variant<bool, std::int32_t, std::int64_t, double, std::string_view,
                               StoreTime, Token, Bson>;

struct BsonField {
  std::string_view key;
  BsonValue value;
};

/// A document written the way one reads it: doc({{"_id", name}, {"$set", doc({…})}}).
Bson doc(std::initializer_list<BsonField> fields);
Bson array(std::initializer_list<BsonValue> values);

void append(Bson& to, std::string_view key, const BsonValue& value);

/// The array of these strings.
template <class Texts>
Bson array_of(const Texts& texts) {
  Bson made(Bson::Kind::array);
  std::uint32_t index = 0;
  for (const std::string& text : texts)
    append(made, std::to_string(index++), std::string_view(text));
  return made;
}

/// `text` as a value inside a pipeline, where a bare string that starts with `$` names a field.
Bson literal(std::string_view text);

}  // namespace distlock
