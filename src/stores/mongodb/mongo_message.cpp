#include "stores/mongodb/mongo_message.h"

#include <bson/bson.h>

#include <cstring>
#include <string_view>

#include "stores/mongodb/mongo_hello_shape.h"

namespace distlock {
namespace {

constexpr std::int32_t kOpReply = 1;
constexpr std::int32_t kOpQuery = 2004;
constexpr std::int32_t kOpMsg = 2013;
constexpr std::int32_t kMessageBytesMost = 48'000'000;
// MongoDB's manual allows a stored document 100 levels. A server stores 180, and MongoDB 6.0 up to
// 230 if its maxBSONDepth says so. An answer has some more around it.
constexpr int kLevelsMost = 250;

// Before the document. OP_MSG: flags and one section of kind 0. OP_REPLY: flags, cursor, first, and
// how many documents follow.
constexpr std::size_t kMsgPreamble = 5;
constexpr std::size_t kReplyPreamble = 20;
constexpr std::size_t kReplyCountAt = 16;

// Flags that change the meaning of a message; of the others none does.
constexpr std::int32_t kRequiredFlags = 0xffff;
constexpr std::int32_t kMoreToCome = 1 << 1;
constexpr std::int32_t kExhaustAllowed = 1 << 16;

std::int32_t int32_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::int32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

// libmongoc asserts that an embedded document can be read as one.
bool is_whole(const bson_iter_t& embedded) {
  const std::uint8_t* bytes = nullptr;
  std::uint32_t size = 0;
  if (BSON_ITER_HOLDS_ARRAY(&embedded)) {
    bson_iter_array(&embedded, &size, &bytes);
  } else {
    bson_iter_document(&embedded, &size, &bytes);
  }
  bson_t document;
  return bytes != nullptr && bson_init_static(&document, bytes, size);
}

// An iterator ends at a broken field as if the document ended there, and then says where.
bool well_formed(bson_iter_t& iter, int levels) {
  while (bson_iter_next(&iter)) {
    if (!BSON_ITER_HOLDS_DOCUMENT(&iter) && !BSON_ITER_HOLDS_ARRAY(&iter)) continue;
    bson_iter_t inner;
    if (levels == 0 || !is_whole(iter) || !bson_iter_recurse(&iter, &inner) ||
        !well_formed(inner, levels - 1))
      return false;
  }
  return iter.err_off == 0;
}

// libmongoc takes the number of an error for 32 bits that are not 0.
bool has_odd_code(const bson_iter_t& fields) {
  bson_iter_t iter = fields;
  return bson_iter_find(&iter, "code") && BSON_ITER_HOLDS_NUMBER(&iter) &&
         static_cast<std::uint32_t>(bson_iter_as_int64(&iter)) == 0;
}

// A parameter of SCRAM, as libmongoc takes it from the server before it knows who that is.
bool has_endless_iterations(std::string_view payload) {
  constexpr std::size_t kDigitsMost = 6;  // MongoDB's own numbers are 10,000 and 15,000.
  for (std::size_t at = 0; at < payload.size(); ++at) {
    const std::string_view part = payload.substr(at, payload.find(',', at) - at);
    at += part.size();
    if (!part.starts_with("i=")) continue;
    const std::string_view number = part.substr(2);
    const bool small =
        number.size() <= kDigitsMost && number.find_first_not_of("0123456789") == number.npos;
    if (!small) return true;
  }
  return false;
}

// Of an answer in an authentication.
std::string_view why_payload_is_unsound(const bson_iter_t& fields) {
  bson_iter_t iter = fields;
  if (!bson_iter_find(&iter, "payload")) return {};
  std::string_view payload;
  if (BSON_ITER_HOLDS_BINARY(&iter)) {
    bson_subtype_t subtype{};
    std::uint32_t size = 0;
    const std::uint8_t* bytes = nullptr;
    bson_iter_binary(&iter, &subtype, &size, &bytes);
    payload = {reinterpret_cast<const char*>(bytes), size};
  } else if (BSON_ITER_HOLDS_UTF8(&iter)) {
    std::uint32_t size = 0;
    const char* const text = bson_iter_utf8(&iter, &size);
    payload = {text, size};
  }
  return has_endless_iterations(payload) ? "has too many iterations of SCRAM" : "";
}

// It comes with the answer to `hello`.
std::string_view why_speculation_is_unsound(const bson_iter_t& fields) {
  bson_iter_t iter = fields;
  if (!bson_iter_find(&iter, "speculativeAuthenticate")) return {};
  bson_iter_t inner;
  if (!BSON_ITER_HOLDS_DOCUMENT(&iter) || !bson_iter_recurse(&iter, &inner))
    return "has a malformed speculativeAuthenticate";
  return why_payload_is_unsound(inner);
}

std::string_view why_authentication_is_unsound(const bson_iter_t& fields) {
  const std::string_view why = why_payload_is_unsound(fields);
  return why.empty() ? why_speculation_is_unsound(fields) : why;
}

std::string_view why_document_is_unsound(std::span<const std::uint8_t> bytes) {
  bson_t document;
  bson_iter_t iter;
  if (!bson_init_static(&document, bytes.data(), bytes.size()) ||
      !bson_iter_init(&iter, &document) || !well_formed(iter, kLevelsMost))
    return "is no BSON document";
  bson_iter_init(&iter, &document);
  if (has_odd_code(iter)) return "has an error without a code";
  for (const auto& look : {why_hello_is_unsound, why_authentication_is_unsound}) {
    const std::string_view why = look(iter);
    if (!why.empty()) return why;
  }
  if (bson_iter_init_find(&iter, &document, "$clusterTime") && !BSON_ITER_HOLDS_DOCUMENT(&iter))
    return "has a malformed $clusterTime";
  if (!bson_iter_init_find(&iter, &document, "writeConcernError")) return {};
  bson_iter_t inner;
  if (!BSON_ITER_HOLDS_DOCUMENT(&iter) || !bson_iter_recurse(&iter, &inner) || has_odd_code(inner))
    return "has a malformed writeConcernError";
  return {};
}

std::size_t preamble_of(const MessageHeader& answer) {
  return answer.opcode == kOpReply ? kReplyPreamble : kMsgPreamble;
}

// Of a sound answer.
template <class Byte>
std::span<Byte> document_of(std::span<Byte> message) {
  return message.subspan(kHeaderBytes + preamble_of(header_of(message)));
}

// Of a body of OP_MSG.
bool is_one_section(std::span<const std::uint8_t> body, bool more_allowed) {
  const std::int32_t meaning = int32_at(body, 0) & kRequiredFlags;
  return body[4] == 0 && (meaning == 0 || (more_allowed && meaning == kMoreToCome));
}

}  // namespace

MessageHeader header_of(std::span<const std::uint8_t> message) {
  MessageHeader header;
  std::memcpy(&header, message.data(), sizeof(header));
  return header;
}

bool length_is_possible(std::int32_t length) {
  return length > static_cast<std::int32_t>(kHeaderBytes) && length <= kMessageBytesMost;
}

Request request_in(std::span<const std::uint8_t> message) {
  const MessageHeader header = header_of(message);
  const bool flags_of_msg = header.opcode == kOpMsg;
  return {header, flags_of_msg && (int32_at(message, kHeaderBytes) & kExhaustAllowed) != 0};
}

std::string_view why_unsound(std::span<const std::uint8_t> message, const Request& request) {
  const MessageHeader header = header_of(message);
  if (header.response_to != request.header.id) return "answers another question";
  const bool legacy = request.header.opcode == kOpQuery;
  if (header.opcode != (legacy ? kOpReply : kOpMsg)) return "is of another kind";
  const auto body = message.subspan(kHeaderBytes);
  const std::size_t preamble = preamble_of(header);
  if (body.size() < preamble) return "is too short";
  const bool one_document =
      legacy ? int32_at(body, kReplyCountAt) == 1 : is_one_section(body, request.allows_more);
  if (!one_document) return "is not one document";
  return why_document_is_unsound(body.subspan(preamble));
}

Request request_after(const Request& request, std::span<const std::uint8_t> message) {
  const MessageHeader header = header_of(message);
  const bool announces_more =
      header.opcode == kOpMsg && (int32_at(message, kHeaderBytes) & kMoreToCome) != 0;
  Request next = request;
  if (announces_more) next.header.id = header.id;
  return next;
}

void hide_cluster_time(std::span<std::uint8_t> message) {
  const auto bytes = document_of(message);
  bson_t document;
  bson_iter_t iter;
  if (!bson_init_static(&document, bytes.data(), bytes.size())) return;
  bson_iter_init(&iter, &document);
  while (bson_iter_next(&iter)) {
    const char* const key = bson_iter_key(&iter);
    if (std::string_view(key) != "$clusterTime") continue;
    bytes[static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(key) - bytes.data())] =
        '_';
  }
}

std::uint32_t code_in(std::span<const std::uint8_t> message) {
  const auto bytes = document_of(message);
  bson_t document;
  bson_iter_t iter;
  const bool found = bson_init_static(&document, bytes.data(), bytes.size()) &&
                     bson_iter_init_find(&iter, &document, "code") && BSON_ITER_HOLDS_NUMBER(&iter);
  return found ? static_cast<std::uint32_t>(bson_iter_as_int64(&iter)) : 0;
}

}  // namespace distlock
