#include "distlock/record.h"

namespace distlock {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::optional<std::uint8_t> digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  if (digit >= 'A' && digit <= 'F') return static_cast<std::uint8_t>(digit - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::string to_hex(const Token& token) {
  std::string hex;
  hex.reserve(2 * token.bytes.size());
  for (const std::uint8_t byte : token.bytes) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xFU];
  }
  return hex;
}

std::optional<Token> token_from_hex(std::string_view hex) {
  Token token;
  if (hex.size() != 2 * token.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < token.bytes.size(); ++i) {
    const auto high = digit_value(hex[2 * i]);
    const auto low = digit_value(hex[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    token.bytes[i] = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return token;
}

}  // namespace distlock
