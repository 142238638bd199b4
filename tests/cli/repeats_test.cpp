#include "cli/repeats.h"

#include <catch2/catch.hpp>

using distlock::SteadyTime;
using distlock::cli::Repeats;
using namespace std::chrono_literals;

TEST_CASE("a line that comes again and again is written every 10 s, with how often it came",
          "[cli][log]") {
  Repeats repeats;
  const SteadyTime start{};
  int lines = 0;
  std::string last;
  for (auto passed = 0ms; passed <= 20s; passed += 125ms) {
    const auto written = repeats.to_write("ping failed", start + passed);
    if (!written) continue;
    ++lines;
    last = *written;
  }
  CHECK(lines == 3);
  CHECK(last == "ping failed (80 times in 10s)");
}

TEST_CASE("lines between others that repeat are written", "[cli][log]") {
  Repeats repeats;
  const SteadyTime start{};
  CHECK(repeats.to_write("ping failed", start) == "ping failed");
  CHECK(repeats.to_write("unlock failed", start + 1s) == "unlock failed");
  CHECK_FALSE(repeats.to_write("ping failed", start + 2s));
  CHECK_FALSE(repeats.to_write("unlock failed", start + 3s));
}

TEST_CASE("a line that comes seldom is written each time, as it is", "[cli][log]") {
  Repeats repeats;
  const SteadyTime start{};
  for (const auto pause : {10s, 59s, 60s, 600s}) {
    CHECK(repeats.to_write("ping failed", start) == "ping failed");
    CHECK(repeats.to_write("ping failed", start + pause) == "ping failed");
    repeats = Repeats();
  }
  CHECK(repeats.to_write("ping failed", start) == "ping failed");
  CHECK_FALSE(repeats.to_write("ping failed", start + 1s));
  CHECK(repeats.to_write("ping failed", start + 1min) == "ping failed");
}
