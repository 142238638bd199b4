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

TEST_CASE("rings that are refused have a pause before the next, and good ones none",
          "[mongo][bell][R19][R20]") {
  RefusedRings rings;
  const SteadyTime now{1h};
  CHECK(rings.may_ring(now));
  rings.refused(now);
  rings.refused(now);
  CHECK_FALSE(rings.may_ring(now + 499ms));
  CHECK(rings.may_ring(now + 500ms));
  rings.refused(now + 500ms);
  CHECK_FALSE(rings.may_ring(now + 1499ms));
  CHECK(rings.may_ring(now + 1500ms));
  rings.heeded();
  rings.refused(now + 1500ms);
  CHECK(rings.may_ring(now + 2s));
}
