#include "pinger/validity.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace std::chrono_literals;

TEST_CASE("validity counts from before the ping was sent", "[validity][R9]") {
  Validity validity(10s);
  CHECK(validity.over(SteadyTime{0s}));
  validity.begin(SteadyTime{100s});
  CHECK(validity.until() == SteadyTime{110s});
  CHECK_FALSE(validity.over(SteadyTime{110s - 1ns}));
  CHECK(validity.over(SteadyTime{110s}));
}

TEST_CASE("a confirmed ping moves the deadline on from its sending", "[validity][R9]") {
  Validity validity(10s);
  validity.begin(SteadyTime{100s});
  validity.extend(SteadyTime{105s}, SteadyTime{109s});
  CHECK(validity.until() == SteadyTime{115s});
}

TEST_CASE("an older ping confirmed later does not move it back", "[validity][R9]") {
  Validity validity(10s);
  validity.begin(SteadyTime{100s});
  validity.extend(SteadyTime{95s}, SteadyTime{109s});
  CHECK(validity.until() == SteadyTime{110s});
}

TEST_CASE("a ping confirmed at the deadline comes too late", "[validity][R9]") {
  Validity validity(10s);
  validity.begin(SteadyTime{100s});
  validity.extend(SteadyTime{105s}, SteadyTime{110s});
  CHECK(validity.until() == SteadyTime::min());
}

TEST_CASE("a deadline that has passed is final", "[validity][R9]") {
  Validity validity(10s);
  validity.begin(SteadyTime{100s});

  SECTION("seen by a check") {
    REQUIRE(validity.over(SteadyTime{110s}));
    validity.extend(SteadyTime{109s}, SteadyTime{109s});
  }
  SECTION("seen by a ping that was confirmed too late") {
    validity.extend(SteadyTime{109s}, SteadyTime{110s});
  }
  CHECK(validity.over(SteadyTime{100s}));
  CHECK(validity.until() == SteadyTime::min());
}

TEST_CASE("an ended validity stays ended until it begins anew", "[validity][R9]") {
  Validity validity(10s);
  validity.begin(SteadyTime{100s});
  validity.end();
  validity.extend(SteadyTime{101s}, SteadyTime{101s});
  CHECK(validity.over(SteadyTime{101s}));
  validity.begin(SteadyTime{102s});
  CHECK_FALSE(validity.over(SteadyTime{103s}));
}

TEST_CASE("a deadline can come sooner, and not later by that", "[validity][M5]") {
  Validity validity(10s);
  validity.begin(SteadyTime{100s});
  validity.shorten_to(SteadyTime{108s});
  CHECK(validity.until() == SteadyTime{108s});
  validity.shorten_to(SteadyTime{109s});
  CHECK(validity.until() == SteadyTime{108s});
  SECTION("a ping that was confirmed before it moves it on") {
    validity.extend(SteadyTime{106s}, SteadyTime{107s});
    CHECK(validity.until() == SteadyTime{116s});
  }
  SECTION("one that was confirmed after it does not") {
    validity.extend(SteadyTime{107s}, SteadyTime{108s});
    CHECK(validity.until() == SteadyTime::min());
  }
  SECTION("one that ended stays so") {
    validity.end();
    validity.shorten_to(SteadyTime{107s});
    CHECK(validity.over(SteadyTime{100s}));
  }
}
