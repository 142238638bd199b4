#include "repeats.h"

#include <catch2/catch.hpp>

using distlock::Repeats;
using distlock::SteadyTime;
using namespace std::chrono_literals;

TEST_CASE("a line that comes again and again is written every 10 s, with how often it came",
          "[log][R12]") {
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

TEST_CASE("lines between others that repeat are written", "[log][R12]") {
  Repeats repeats;
  const SteadyTime start{};
  CHECK(repeats.to_write("ping failed", start) == "ping failed");
  CHECK(repeats.to_write("unlock failed", start + 1s) == "unlock failed");
  CHECK_FALSE(repeats.to_write("ping failed", start + 2s));
  CHECK_FALSE(repeats.to_write("unlock failed", start + 3s));
}

TEST_CASE("a line that comes seldom is written each time, as it is", "[log][R12]") {
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

TEST_CASE("different lines are remembered in bounded memory", "[log][R12]") {
  Repeats repeats;
  const SteadyTime start{};
  for (int i = 0; i < 5000; ++i) {
    const std::string line = "failed at " + std::to_string(i);
    REQUIRE(repeats.to_write(line, start) == line);
  }
  CHECK(repeats.size() <= 1000);
  CHECK_FALSE(repeats.to_write("failed at 4999", start + 1s));
}
