#include "stores/mirrored/fan_out.h"

#include <catch2/catch.hpp>

#include "support/manual_clock.h"

using namespace distlock;
using namespace distlock::mirrored;
using namespace distlock::testing;

TEST_CASE("a member whose call never began has not been written to", "[mirrored][M2][R8]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto member = std::make_shared<Member>(make_memory_store(clock), Place{0, 1}, clock,
                                               std::make_shared<KnownReturns>());
  const bool begun = GENERATE(false, true);
  Answers<int> answers({member}, 1, 1);
  if (begun) REQUIRE(answers.begin(0));
  const auto replies = answers.close({member}, Effect::writes);
  REQUIRE(replies.at(0).failure);
  CHECK(replies[0].failure->errc() == (begun ? Errc::outcome_unknown : Errc::not_applied));
  // It waited for its turn in this process, which says nothing about the member.
  CHECK(member->present == !begun);
  // The thread that comes to it now leaves it alone.
  CHECK_FALSE(answers.begin(0));
}
