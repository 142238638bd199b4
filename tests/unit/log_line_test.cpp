#include "log_line.h"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;

TEST_CASE("the log has a time in the largest unit of which there are two", "[log][R12]") {
  CHECK(distlock::log::rounded(1999ms) == "1999 ms");
  CHECK(distlock::log::rounded(2s) == "2 s");
  CHECK(distlock::log::rounded(2min - 1ms) == "119 s");
  CHECK(distlock::log::rounded(2min) == "2 minutes");
  CHECK(distlock::log::rounded(16min + 59s) == "16 minutes");
}
