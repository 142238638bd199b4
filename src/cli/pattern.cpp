#include "cli/pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "text.h"

namespace distlock::cli {
namespace {

using Characters = std::vector<std::string_view>;

constexpr std::size_t kAscii = 128;

// Each character as a byte: ASCII as it is, those of `beyond` in their order behind it.
std::string in_bytes(const Characters& characters, const std::set<std::string_view>& beyond) {
  std::string bytes;
  for (const std::string_view character : characters) {
    const auto found = beyond.find(character);
    const auto rank = static_cast<std::size_t>(std::distance(beyond.begin(), found));
    bytes += found == beyond.end() ? character.front() : static_cast<char>(kAscii + rank);
  }
  return bytes;
}

// Other programs may have stored a name with a NUL, at which fnmatch() would end.
bool bytes_match(const std::string& pattern, std::string name) {
  std::replace(name.begin(), name.end(), '\0', '\1');
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

// In a locale of UTF-8, fnmatch() of glibc tries the bytes where the characters do not match. So it
// stays in the locale "C", in which a character is a byte.
bool matches(const std::string& pattern, const std::string& name) {
  if (!is_utf8(pattern) || !is_utf8(name)) return bytes_match(pattern, name);
  const Characters wanted = characters_of(pattern);
  const Characters given = characters_of(name);
  std::set<std::string_view> beyond;
  for (const Characters& characters : {wanted, given}) {
    for (const std::string_view character : characters) {
      if (character.size() > 1) beyond.insert(character);
    }
  }
  if (beyond.size() > kAscii) return bytes_match(pattern, name);
  return bytes_match(in_bytes(wanted, beyond), in_bytes(given, beyond));
}

}  // namespace distlock::cli
