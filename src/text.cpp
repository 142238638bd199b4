#include "text.h"

#include <algorithm>
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

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Controls, which terminals obey, and what has no look of its own (Unicode's
// Default_Ignorable_Code_Point): it turns the direction of what follows, breaks the line, or makes
// two different names look the same.
constexpr std::array<Range, 19> kUnfit{{{0x0, 0x1F},
                                        {0x7F, 0x9F},
                                        {0xAD, 0xAD},
                                        {0x34F, 0x34F},
                                        {0x61C, 0x61C},
                                        {0x115F, 0x1160},
                                        {0x17B4, 0x17B5},
                                        {0x180B, 0x180F},
                                        {0x200B, 0x200F},
                                        {0x2028, 0x202E},
                                        {0x2060, 0x206F},
                                        {0x3164, 0x3164},
                                        {0xFE00, 0xFE0F},
                                        {0xFEFF, 0xFEFF},
                                        {0xFFA0, 0xFFA0},
                                        {0xFFF0, 0xFFFB},
                                        {0x1BCA0, 0x1BCA3},
                                        {0x1D173, 0x1D17A},
                                        {0xE0000, 0xE0FFF}}};

std::uint32_t code_point(std::string_view character) {
  constexpr std::array<std::uint8_t, 5> kBitsOfFirst{0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code = byte_at(character, 0) & kBitsOfFirst.at(character.size());
  for (const char next : character.substr(1)) {
    code = code << 6U | (static_cast<std::uint8_t>(next) & 0x3FU);
  }
  return code;
}

bool is_unfit(std::string_view character) {
  const std::uint32_t code = code_point(character);
  return std::any_of(kUnfit.begin(), kUnfit.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
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

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(character_length(text), 1);
    all.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return all;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view next = text.substr(0, length == 0 ? 1 : length);
    if (next == "\\") {
      out += "\\\\";
    } else if (length == 0 || is_unfit(next)) {
      append_hex(out, next);
    } else {
      out += next;
    }
    text.remove_prefix(next.size());
  }
  return out;
}

std::string in_lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string in_quotes(std::string_view text) { return '"' + escaped(text) + '"'; }

}  // namespace distlock
