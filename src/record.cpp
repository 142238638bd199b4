#include "distlock/record.h"

namespace distlock {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::optional<std::uint8_t> digit_value(char digit) {
  const char lower = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
  const auto at = kDigits.find(lower);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint8_t>(at);
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
