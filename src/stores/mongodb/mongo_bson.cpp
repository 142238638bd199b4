#include "stores/mongodb/mongo_bson.h"

#include <new>

namespace distlock {
namespace {

struct Appender {
  bson_t* to;
  const char* key;
  int length;

  bool operator()(bool value) const { return bson_append_bool(to, key, length, value); }
  bool operator()(std::int32_t value) const { return bson_append_int32(to, key, length, value); }
  bool operator()(std::int64_t value) const { return bson_append_int64(to, key, length, value); }
  bool operator()(double value) const { return bson_append_double(to, key, length, value); }
  bool operator()(std::string_view value) const {
    return bson_append_utf8(to, key, length, value.data(), static_cast<int>(value.size()));
  }
  bool operator()(StoreTime value) const {
    return bson_append_date_time(to, key, length, value.time_since_epoch().count());
  }
  bool operator()(const Token& value) const {
    bson_oid_t oid;
    bson_oid_init_from_data(&oid, value.bytes.data());
    return bson_append_oid(to, key, length, &oid);
  }
  bool operator()(const Bson& value) const {
    return value.kind() == Bson::Kind::array ? bson_append_array(to, key, length, value.get())
                                             : bson_append_document(to, key, length, value.get());
  }
};

}  // namespace

std::string Bson::json() const {
  char* text = bson_as_canonical_extended_json(document_, nullptr);
  std::string copy = text == nullptr ? "" : text;
  bson_free(text);
  return copy;
}

void append(Bson& to, std::string_view key, const BsonValue& value) {
  // It fails only if the document would outgrow 2 GiB.
  if (!std::visit(Appender{to.get(), key.data(), static_cast<int>(key.size())}, value))
    throw std::bad_alloc();
}

Bson doc(std::initializer_list<BsonField> fields) {
  Bson made;
  for (const BsonField& field : fields) append(made, field.key, field.value);
  return made;
}

Bson array(std::initializer_list<BsonValue> values) {
  Bson made(Bson::Kind::array);
  int index = 0;
  for (const BsonValue& value : values) append(made, std::to_string(index++), value);
  return made;
}

Bson literal(std::string_view text) { return doc({{"$literal", text}}); }

}  // namespace distlock
