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
  Answers<int> answers({member}, 1, 1, Effect::writes);
  if (begun) REQUIRE(answers.begin(0));
  const auto replies = answers.close({member});
  REQUIRE(replies.at(0).failure);
  CHECK(replies[0].failure->errc() == (begun ? Errc::outcome_unknown : Errc::not_applied));
  // It waited for its turn in this process, which says nothing about the member.
  CHECK(member->answers(Effect::reads) == !begun);
  CHECK(member->answers(Effect::writes) == !begun);
  // The thread that comes to it now leaves it alone.
  CHECK_FALSE(answers.begin(0));
}

TEST_CASE("an answer to a read says nothing about writes of that member", "[mirrored][M2]") {
  const auto clock = std::make_shared<ManualClock>();
  Member member(make_memory_store(clock), Place{0, 1}, clock, std::make_shared<KnownReturns>());
  const auto answers = [&] {
    return std::pair{member.answers(Effect::reads), member.answers(Effect::writes)};
  };
  CHECK(answers() == std::pair{true, true});
  member.note_outcome(Effect::writes, Error(Errc::not_applied, "the disk is full"));
  CHECK(answers() == std::pair{false, false});
  member.note_outcome(Effect::reads, std::nullopt);
  CHECK(answers() == std::pair{true, false});
  member.note_outcome(Effect::writes, std::nullopt);
  CHECK(answers() == std::pair{true, true});
  member.note_outcome(Effect::writes, Error(Errc::permission_denied, "it is read-only"));
  CHECK(answers() == std::pair{true, false});
  member.note_outcome(Effect::writes, Error(Errc::bad_record, "one document of many"));
  CHECK(answers() == std::pair{true, true});
  member.note_outcome(Effect::reads, Error(Errc::not_applied, "it is away"));
  CHECK(answers() == std::pair{false, false});
}
