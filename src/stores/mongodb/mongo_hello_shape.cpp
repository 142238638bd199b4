#include "stores/mongodb/mongo_hello_shape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace distlock {
namespace {

constexpr std::size_t kHostBytesMost = 255;  // libmongoc has room for no more.
constexpr int kPortMost = 65535;

bool is_port(std::string_view text) {
  constexpr std::size_t kDigitsMost = 5;
  if (text.empty() || text.size() > kDigitsMost) return false;
  int port = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    port = 10 * port + (digit - '0');
  }
  return port >= 1 && port <= kPortMost;
}

bool is_host(std::string_view text) {
  const bool printable = std::all_of(text.begin(), text.end(), [](const char letter) {
    return static_cast<unsigned char>(letter) > ' ' && letter != '\x7f';
  });
  return printable && !text.empty() && text.size() <= kHostBytesMost &&
         text.find_first_of("/?#@,[]") == text.npos;
}

// `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
bool is_address(std::string_view text) {
  const bool in_brackets = text.starts_with('[');
  const std::size_t end = text.find(in_brackets ? ']' : ':');
  if (in_brackets && end == text.npos) return false;
  const std::string_view host = text.substr(in_brackets ? 1 : 0, end - (in_brackets ? 1 : 0));
  const std::string_view rest = end == text.npos ? "" : text.substr(end + (in_brackets ? 1 : 0));
  if (!is_host(host)) return false;
  return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
}

bool is_text(const bson_iter_t& element, bool (*is_right)(std::string_view)) {
  if (!BSON_ITER_HOLDS_UTF8(&element)) return false;
  std::uint32_t size = 0;
  const char* const text = bson_iter_utf8(&element, &size);
  return is_right({text, size});
}

// Each element of a list. Of something else libmongoc reads none.
bool all_are(const bson_iter_t& field, bool (*is_right)(std::string_view)) {
  bson_iter_t one;
  if (!BSON_ITER_HOLDS_ARRAY(&field) || !bson_iter_recurse(&field, &one)) return true;
  while (bson_iter_next(&one)) {
    if (!is_text(one, is_right)) return false;
  }
  return true;
}

// libmongoc has threads for each, and no limit.
bool are_more_than_a_set_has(const bson_iter_t& field) {
  constexpr int kMembersMost = 50;
  bson_iter_t one;
  if (!BSON_ITER_HOLDS_ARRAY(&field) || !bson_iter_recurse(&field, &one)) return false;
  int count = 0;
  while (bson_iter_next(&one)) ++count;
  return count > kMembersMost;
}

}  // namespace

// A document may have several fields of one name.
std::string_view why_hello_is_unsound(const bson_iter_t& fields) {
  constexpr std::array<std::string_view, 3> kMembers{"hosts", "passives", "arbiters"};
  bson_iter_t iter = fields;
  while (bson_iter_next(&iter)) {
    const std::string_view key = bson_iter_key(&iter);
    const bool any_text = key == "compression";
    if (any_text && !all_are(iter, [](std::string_view) { return true; }))
      return "has a compressor that is no text";
    const bool members = std::find(kMembers.begin(), kMembers.end(), key) != kMembers.end();
    if (members && !all_are(iter, is_address)) return "has a member that is no address";
    if (members && are_more_than_a_set_has(iter)) return "has more members than a set can have";
  }
  return {};
}

}  // namespace distlock
