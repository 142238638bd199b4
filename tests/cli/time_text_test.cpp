#include "cli/time_text.h"

#include <catch2/catch.hpp>

#include "saturating.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

StoreTime at(std::int64_t count) { return StoreTime{std::chrono::milliseconds{count}}; }

}  // namespace

TEST_CASE("a stored date has its ISO 8601 text", "[cli][time]") {
  CHECK(iso8601(at(0)) == "1970-01-01T00:00:00.000Z");
  CHECK(iso8601(at(-1)) == "1969-12-31T23:59:59.999Z");
  CHECK(iso8601(at(1'709'210'096'789)) == "2024-02-29T12:34:56.789Z");
  CHECK(iso8601(at(-2'203'891'200'000)) == "1900-03-01T00:00:00.000Z");
  CHECK(iso8601(at(253'402'300'799'999)) == "9999-12-31T23:59:59.999Z");
}

TEST_CASE("dates that no calendar shows have a text too", "[cli][time]") {
  CHECK(iso8601(at(253'402'300'800'000)) == "+010000-01-01T00:00:00.000Z");
  CHECK(iso8601(at(-62'198'755'200'000)) == "-000001-01-01T00:00:00.000Z");
  CHECK(iso8601(StoreTime::max()) == "+292278994-08-17T07:12:55.807Z");
  CHECK(iso8601(StoreTime::min()) == "-292275055-05-16T16:47:04.192Z");
}

TEST_CASE("differences of absurd dates stop at the ends of the range", "[cli][time]") {
  CHECK(saturating_difference(at(12), at(5)) == 7ms);
  CHECK(saturating_difference(StoreTime::max(), StoreTime::min()) ==
        std::chrono::milliseconds::max());
  CHECK(saturating_difference(StoreTime::min(), StoreTime::max()) ==
        std::chrono::milliseconds::min());
  CHECK(saturating_sum(StoreTime::max(), 1ms) == StoreTime::max());
  CHECK(saturating_sum(StoreTime::min(), -1ms) == StoreTime::min());
}
