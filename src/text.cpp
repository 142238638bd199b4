#include "text.h"

#include <array>
#include <cstdint>

namespace distlock {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0;
}

bool between(std::uint8_t byte, std::uint8_t low, std::uint8_t high) {
  return byte >= low && byte <= high;
}

// The lengths and the ranges of the second byte are table 3-7 of the Unicode standard.
struct Lead {
  std::uint8_t low;
  std::uint8_t high;
  std::size_t length;
  std::uint8_t second_low;
  std::uint8_t second_high;
};
constexpr std::array<Lead, 8> kLeads{{{0xC2, 0xDF, 2, 0x80, 0xBF},
                                      {0xE0, 0xE0, 3, 0xA0, 0xBF},
                                      {0xE1, 0xEC, 3, 0x80, 0xBF},
                                      {0xED, 0xED, 3, 0x80, 0x9F},
                                      {0xEE, 0xEF, 3, 0x80, 0xBF},
                                      {0xF0, 0xF0, 4, 0x90, 0xBF},
                                      {0xF1, 0xF3, 4, 0x80, 0xBF},
                                      {0xF4, 0xF4, 4, 0x80, 0x8F}}};

// The length of the character that `text` begins with, or 0 if it begins with none.
std::size_t character_length(std::string_view text) {
  const std::uint8_t first = byte_at(text, 0);
  if (first < 0x80) return 1;
  for (const Lead& lead : kLeads) {
    if (!between(first, lead.low, lead.high)) continue;
    if (!between(byte_at(text, 1), lead.second_low, lead.second_high)) return 0;
    for (std::size_t i = 2; i < lead.length; ++i) {
      if (!between(byte_at(text, i), 0x80, 0xBF)) return 0;
    }
    return lead.length;
  }
  return 0;
}

bool is_control(std::string_view character) {
  const std::uint8_t first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && byte_at(character, 1) < 0xA0;
}

void append_hex(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xFU];
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view next = text.substr(0, length == 0 ? 1 : length);
    if (next == "\\") {
      out += "\\\\";
    } else if (length == 0 || is_control(next)) {
      append_hex(out, next);
    } else {
      out += next;
    }
    text.remove_prefix(next.size());
  }
  return out;
}

std::string quoted(std::string_view text) { return '"' + escaped(text) + '"'; }

}  // namespace distlock
