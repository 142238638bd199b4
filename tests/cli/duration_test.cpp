#include "cli/duration.h"

#include <catch2/catch.hpp>

using namespace distlock::cli;
using namespace std::chrono_literals;

TEST_CASE("a duration is a number and a unit, or seconds", "[cli][duration]") {
  CHECK(parse_duration("500ms") == 500ms);
  CHECK(parse_duration("3s") == 3s);
  CHECK(parse_duration("16m") == 16min);
  CHECK(parse_duration("2h") == 2h);
  CHECK(parse_duration("1d") == 24h);
  CHECK(parse_duration("7") == 7s);
  CHECK(parse_duration("1.5s") == 1500ms);
  CHECK(parse_duration("0.07") == 70ms);
  CHECK(parse_duration("0") == 0ms);
  CHECK(parse_duration("0.0001ms") == 1ms);
}

TEST_CASE("a duration is read as it is printed", "[cli][duration]") {
  CHECK(parse_duration("1h30m") == 90min);
  CHECK(parse_duration("1d 2h3m 4s 5ms") == 26h + 3min + 4s + 5ms);
  CHECK(parse_duration("1h1.5m") == 61min + 30s);
  for (const std::chrono::milliseconds printed :
       {std::chrono::milliseconds{20}, std::chrono::milliseconds{1500},
        std::chrono::milliseconds{75s}, std::chrono::milliseconds{61min},
        std::chrono::milliseconds{49h}}) {
    CHECK(parse_duration(duration_text(printed)) == printed);
  }
}

TEST_CASE("a text that is no duration is refused", "[cli][duration]") {
  for (const char* text : {"",      "-1s",  "+1s",      "s",      ".5s",    "1 s",    "1S",  "1w",
                           "30s1m", "1m1m", "1h5",      "1h  5m", "1h -5m", "1h 5m ", "1e3", "0x10",
                           "nan",   "inf",  "infinity", "1,5s",   "1s ",    "ms"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("a duration that no clock could count is refused, not wrapped", "[cli][duration]") {
  CHECK(parse_duration("3650000d") == std::chrono::days{3'650'000});
  CHECK_FALSE(parse_duration("3650001d"));
  CHECK_FALSE(parse_duration("9223372036854775807d"));
  CHECK_FALSE(parse_duration(std::string(400, '9') + "d"));
}

TEST_CASE("people read two units at most", "[cli][duration]") {
  CHECK(duration_text(0ms) == "0ms");
  CHECK(duration_text(999ms) == "999ms");
  CHECK(duration_text(1500ms) == "1.5s");
  CHECK(duration_text(59'050ms) == "59.05s");
  CHECK(duration_text(60s) == "1m");
  CHECK(duration_text(2h + 5min + 59s) == "2h 5m");
  CHECK(duration_text(49h) == "2d 1h");
  CHECK(duration_text(-61s) == "-1m 1s");
  CHECK(duration_text(std::chrono::milliseconds::min()) == "-106751991167d 7h");
}

TEST_CASE("a part of a second counts as one, as far as milliseconds reach", "[cli][duration]") {
  CHECK(rounded_up_text(0ms) == "0ms");
  CHECK(rounded_up_text(1ms) == "1s");
  CHECK(rounded_up_text(2s) == "2s");
  CHECK(rounded_up_text(-1ms) == "0ms");
  CHECK(rounded_up_text(-2001ms) == "-2s");
  CHECK(rounded_up_text(std::chrono::milliseconds::max()) == "106751991167d 7h");
  CHECK(rounded_up_text(std::chrono::milliseconds::min()) == "-106751991167d 7h");
}
