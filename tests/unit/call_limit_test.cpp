#include "call_limit.h"

#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;

TEST_CASE("a call of a store may take from a millisecond to a day", "[store][R15]") {
  for (const std::chrono::milliseconds limit : {1ms, std::chrono::milliseconds{24h}}) {
    CHECK_NOTHROW(check_call_limit(limit));
  }
  for (const std::chrono::milliseconds limit : {-1ms, 0ms, 24h + 1ms}) {
    CAPTURE(limit.count());
    CHECK(distlock::testing::thrown_by([&] { check_call_limit(limit); }) == Errc::invalid_argument);
  }
}
