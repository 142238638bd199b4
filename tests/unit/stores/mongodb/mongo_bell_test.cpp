#include "stores/mongodb/mongo_bell.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace std::chrono_literals;

TEST_CASE("a bell that is refused is tried more and more rarely", "[mongo][bell][R20]") {
  std::chrono::milliseconds pause{};
  for (const auto next : {500ms, 1000ms, 2000ms, 4000ms}) {
    pause = pause_of_bell(pause, true);
    CHECK(pause == next);
  }
  CHECK(pause_of_bell(4min, true) == 5min);
  CHECK(pause_of_bell(5min, true) == 5min);
}

TEST_CASE("a bell is tried soon again after trouble that passes", "[mongo][bell][R19]") {
  CHECK(pause_of_bell(0ms, false) == 500ms);
  CHECK(pause_of_bell(5min, false) == 500ms);
}
