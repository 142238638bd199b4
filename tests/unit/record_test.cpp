#include "distlock/record.h"

#include <catch2/catch.hpp>

using namespace distlock;

TEST_CASE("a token is 24 lower-case hexadecimal digits and back", "[record]") {
  const std::string hex = "00ff10a9b8c7d6e5f4031201";
  REQUIRE(token_from_hex(hex));
  CHECK(to_hex(*token_from_hex(hex)) == hex);
  CHECK(token_from_hex("00FF10A9B8C7D6E5F4031201") == token_from_hex(hex));
}

TEST_CASE("a text that is no token is refused", "[record]") {
  CHECK_FALSE(token_from_hex(""));
  CHECK_FALSE(token_from_hex("00ff10a9b8c7d6e5f403120"));
  CHECK_FALSE(token_from_hex("00ff10a9b8c7d6e5f40312012"));
  CHECK_FALSE(token_from_hex("00ff10a9b8c7d6e5f403120g"));
  CHECK_FALSE(token_from_hex("00ff10a9b8c7d6e5f40312g0"));
  const std::string digits = "0123456789abcdefABCDEF";
  for (int i = 0; i < 256; ++i) {
    const auto digit = static_cast<char>(i);
    const bool is_one = digits.find(digit) != std::string::npos;
    CAPTURE(i);
    CHECK(token_from_hex(std::string(22, '0') + digit + '0').has_value() == is_one);
    CHECK(token_from_hex(std::string(23, '0') + digit).has_value() == is_one);
  }
}
