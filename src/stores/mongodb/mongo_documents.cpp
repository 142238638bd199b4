#include "stores/mongodb/mongo_documents.h"

#include <algorithm>
#include <set>

#include "distlock/error.h"

namespace distlock {
namespace {

std::string type_name(bson_type_t type) {
  switch (type) {
    case BSON_TYPE_DOCUMENT:
      return "object";
    case BSON_TYPE_ARRAY:
      return "array";
    case BSON_TYPE_BINARY:
      return "binData";
    case BSON_TYPE_BOOL:
      return "bool";
    case BSON_TYPE_NULL:
      return "null";
    case BSON_TYPE_REGEX:
      return "regex";
    case BSON_TYPE_TIMESTAMP:
      return "timestamp";
    case BSON_TYPE_DECIMAL128:
      return "decimal";
    default:
      return "BSON type " + std::to_string(static_cast<int>(type));
  }
}

Token token_at(const bson_iter_t* iter) {
  Token token;
  std::copy_n(bson_iter_oid(iter)->bytes, token.bytes.size(), token.bytes.begin());
  return token;
}

std::string text_at(const bson_iter_t* iter) {
  std::uint32_t length = 0;
  const char* text = bson_iter_utf8(iter, &length);
  return {text, length};
}

// An iterator stops at bytes that are no BSON as if the document ended there.
bool ended_early(const bson_iter_t& iter) { return iter.err_off != 0; }

// One place in a line: {process, who, since[, passed]}.
std::optional<Waiter> waiter_at(const bson_iter_t* iter) {
  const auto ticket = token_from_hex(bson_iter_key(iter));
  const auto place = document_at(iter);
  // Capitals would be another field than the one that is asked for.
  if (!ticket || to_hex(*ticket) != bson_iter_key(iter) || !place) return std::nullopt;
  const Value* process = find_field(*place, "process");
  const Value* who = find_field(*place, "who");
  const Value* since = find_field(*place, "since");
  const Value* passed = find_field(*place, "passed");
  const auto is_text = [](const Value* value) {
    const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
    return text != nullptr && text->size() <= kTextBytesMost;
  };
  const auto is_time = [](const Value* value) {
    return value != nullptr && std::holds_alternative<StoreTime>(*value);
  };
  if (!is_text(process) || !is_text(who) || !is_time(since)) return std::nullopt;
  if (passed != nullptr && !is_time(passed)) return std::nullopt;
  Waiter waiter{*ticket, std::get<std::string>(*process), std::get<std::string>(*who),
                std::get<StoreTime>(*since), std::nullopt};
  if (passed != nullptr) waiter.passed_over = std::get<StoreTime>(*passed);
  return waiter;
}

// The line that this object is; an object of another shape is Foreign.
Value line_or_object(const bson_iter_t* iter) {
  std::vector<Waiter> line;
  std::set<Token> tickets;
  bson_iter_t child;
  if (!bson_iter_recurse(iter, &child)) return Foreign{"object"};
  while (bson_iter_next(&child)) {
    auto waiter = waiter_at(&child);
    if (!waiter || !tickets.insert(waiter->ticket).second) return Foreign{"object"};
    line.push_back(*std::move(waiter));
  }
  if (ended_early(child)) return Foreign{"object"};
  return line;
}

Value value_at(const bson_iter_t* iter) {
  switch (const bson_type_t type = bson_iter_type(iter)) {
    case BSON_TYPE_INT32:
      return bson_iter_int32(iter);
    case BSON_TYPE_INT64:
      return bson_iter_int64(iter);
    case BSON_TYPE_DOUBLE:
      return bson_iter_double(iter);
    case BSON_TYPE_UTF8:
      return text_at(iter);
    case BSON_TYPE_DATE_TIME:
      return StoreTime(StoreTime::duration(bson_iter_date_time(iter)));
    case BSON_TYPE_OID:
      return token_at(iter);
    case BSON_TYPE_DOCUMENT:
      if (std::string_view(bson_iter_key(iter)) == "line") return line_or_object(iter);
      return Foreign{type_name(type)};
    default:
      return Foreign{type_name(type)};
  }
}

}  // namespace

Document document_from(const bson_t* bson) {
  Document document;
  bson_iter_t iter;
  const bool sound = bson_iter_init(&iter, bson);
  while (sound && bson_iter_next(&iter))
    document.emplace_back(bson_iter_key(&iter), value_at(&iter));
  if (!sound || ended_early(iter)) throw Error(Errc::bad_record, "a document is not valid BSON");
  return document;
}

std::optional<Document> document_at(const bson_iter_t* iter) {
  if (!BSON_ITER_HOLDS_DOCUMENT(iter)) return std::nullopt;
  std::uint32_t length = 0;
  const std::uint8_t* data = nullptr;
  bson_iter_document(iter, &length, &data);
  bson_t bson;
  if (!bson_init_static(&bson, data, length)) return std::nullopt;
  return document_from(&bson);
}

std::optional<Found> find(const bson_t* bson, const char* path) {
  bson_iter_t iter;
  Found found;
  if (!bson_iter_init(&iter, bson) || !bson_iter_find_descendant(&iter, path, &found))
    return std::nullopt;
  return found;
}

StoreTime time_at(const bson_t* document, const char* path) {
  const auto time = find(document, path);
  if (!time || !BSON_ITER_HOLDS_DATE_TIME(&*time))
    throw Error(Errc::not_applied, "the MongoDB server did not tell its time");
  return StoreTime(StoreTime::duration(bson_iter_date_time(&*time)));
}

}  // namespace distlock
