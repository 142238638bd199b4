#include "text.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace distlock;
using namespace std::string_literals;

TEST_CASE("well-formed UTF-8 is told from what only looks like it", "[text]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("balancer"));
  CHECK(is_utf8("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92\xf4\x8f\xbf\xbf"));
  CHECK(is_utf8("a\0b"s));

  CHECK_FALSE(is_utf8("\x80"));
  CHECK_FALSE(is_utf8("\xc0\xaf"));
  CHECK_FALSE(is_utf8("\xc3"));
  CHECK_FALSE(is_utf8("\xe2\x82"));
  CHECK_FALSE(is_utf8("\xe0\x9f\xbf"));
  CHECK_FALSE(is_utf8("\xed\xa0\x80"));
  CHECK_FALSE(is_utf8("\xf4\x90\x80\x80"));
  CHECK_FALSE(is_utf8("\xf8\x88\x80\x80\x80"));
}

TEST_CASE("a character of each length begins and ends where the table says", "[text]") {
  for (const std::string character :
       {"\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf", "\xe1\x80\x80",
        "\xec\xbf\xbf", "\xed\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf0\xbf\xbf\xbf", "\xf1\x80\x80\x80", "\xf3\xbf\xbf\xbf",
        "\xf4\x80\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(is_utf8(character));
    CHECK(is_utf8(character + "a" + character));
    if (character.size() > 1) CHECK_FALSE(is_utf8(character.substr(0, character.size() - 1) + "a"));
    CHECK_FALSE(is_utf8(character + "\x80"));
  }
  for (const std::string none : {"\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                                 "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    CHECK_FALSE(is_utf8(none));
  }
}

TEST_CASE("the characters of a text are those of UTF-8, and each byte beside them", "[text]") {
  using Characters = std::vector<std::string_view>;
  CHECK(characters_of("").empty());
  CHECK(characters_of("a\xc3\xa9\xf0\x9f\x94\x92") ==
        Characters{"a", "\xc3\xa9", "\xf0\x9f\x94\x92"});
  CHECK(characters_of("\xc3\xe2\x82 ") == Characters{"\xc3", "\xe2", "\x82", " "});
}

TEST_CASE("escaped text keeps letters of any language and disarms the rest", "[text]") {
  CHECK(escaped("caf\xc3\xa9 \xf0\x9f\x94\x92") == "caf\xc3\xa9 \xf0\x9f\x94\x92");
  CHECK(escaped("\x1b[2J\n\t\0\x7f"s) == "\\x1b[2J\\x0a\\x09\\x00\\x7f");
  CHECK(escaped("\xc2\x9b"
                "31m") == "\\xc2\\x9b31m");
  CHECK(escaped("a\xe2\x80\xae"
                "b\xe2\x81\xa6"
                "c\xe2\x80\xa8") == "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x80\\xa8");
  CHECK(escaped("a\xef\xbb\xbf\xf3\xa0\x80\x81") == "a\\xef\\xbb\\xbf\\xf3\\xa0\\x80\\x81");
  for (const std::string unseen : {"\xd8\x9c", "\xe1\xa0\x8b", "\xe1\xa0\x8e", "\xef\xbf\xb9"}) {
    CHECK_THAT(escaped(unseen), Catch::StartsWith("\\x") && !Catch::Contains(unseen));
  }
  CHECK(escaped("\xe2\x80\x94\xe2\x82\xac") == "\xe2\x80\x94\xe2\x82\xac");
  CHECK(escaped("a\xff\xe2\x82z") == "a\\xff\\xe2\\x82z");
}

TEST_CASE("escaped text cannot be confused with another", "[text]") {
  CHECK(escaped("\\x1b") != escaped("\x1b"));
  CHECK(escaped("\\x1b") == "\\\\x1b");
}

TEST_CASE("quoted text is escaped and in double quotes", "[text]") {
  CHECK(in_quotes("a\nb") == "\"a\\x0ab\"");
}

TEST_CASE("characters that nobody sees are escaped, from the first to the last of a kind",
          "[text]") {
  for (const std::string unseen :
       {"\xc2\x80", "\xc2\x9f", "\xc2\xad", "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xae",
        "\xe2\x81\xa0", "\xe2\x81\xaf", "\xef\xb8\x80", "\xef\xb8\x8f", "\xef\xbf\xbb",
        "\xf3\xa0\x80\x80", "\xf3\xa0\xbf\xbf"}) {
    CHECK_THAT(escaped(unseen), Catch::StartsWith("\\x") && !Catch::Contains(unseen));
  }
  for (const std::string seen : {"\xc2\xa1", "\xc2\xac", "\xc2\xae", "\xe2\x80\x90", "\xe2\x81\x9e",
                                 "\xe2\x81\xb0", "\xef\xb8\x90", "\xef\xbf\xbc", "\xef\xbf\xbd"}) {
    CHECK(escaped(seen) == seen);
  }
}

TEST_CASE("characters without a look of their own are escaped", "[log]") {
  for (const std::string character :
       {"\xcd\x8f", "\xe1\x85\x9f", "\xe1\x85\xa0", "\xe1\x9e\xb4", "\xe1\x9e\xb5", "\xe1\xa0\x8f",
        "\xe3\x85\xa4", "\xef\xbe\xa0", "\xef\xbf\xb0", "\xef\xbf\xb8", "\xf0\x9b\xb2\xa0",
        "\xf0\x9d\x85\xb3", "\xf0\x9d\x85\xba"}) {
    CAPTURE(character);
    CHECK(escaped(character).starts_with("\\x"));
  }
  CHECK(escaped("\xe3\x85\xa3") == "\xe3\x85\xa3");
}

TEST_CASE("letters of ASCII alone are put into lower case", "[uri]") {
  CHECK(in_lower_case("@AZ[`az{\xc3\x84") == "@az[`az{\xc3\x84");
}
