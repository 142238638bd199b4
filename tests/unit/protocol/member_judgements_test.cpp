#include "protocol/member_judgements.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace distlock::protocol;
using namespace std::chrono_literals;

namespace {

Judgement judged(Verdict verdict, std::chrono::milliseconds until_takeover = 0ms) {
  return {verdict, Reason::none, 0ms, until_takeover};
}

}  // namespace

TEST_CASE("a mirrored lock is claimed only if a majority of its members may be claimed from",
          "[mirrored][M4]") {
  const std::size_t members = GENERATE(1, 3, 5);
  const std::size_t majority = members / 2 + 1;
  const std::vector<Verdict> verdicts = {Verdict::absent, Verdict::free, Verdict::busy,
                                         Verdict::dead};
  std::vector<std::size_t> each(members, 0);
  for (bool more = true; more;) {
    std::vector<Judgement> judgements;
    for (const std::size_t one : each) judgements.push_back(judged(verdicts[one]));
    const auto number_of = [&](std::size_t verdict) {
      return static_cast<std::size_t>(std::count(each.begin(), each.end(), verdict));
    };
    const std::size_t free = number_of(0) + number_of(1);
    const Verdict verdict = judge_members(judgements, majority).verdict;
    const bool may_claim = free + number_of(3) >= majority;
    if ((verdict != Verdict::busy) != may_claim)
      FAIL_CHECK("claimed from a minority, or not at all");
    if ((verdict == Verdict::dead) != (may_claim && free < majority)) FAIL_CHECK("dead");
    std::size_t i = 0;
    while (i < members && ++each[i] == verdicts.size()) each[i++] = 0;
    more = i < members;
  }
}

TEST_CASE("a takeover of a mirrored lock is due when a majority can be taken from",
          "[mirrored][M4]") {
  const auto until = [](const std::vector<Judgement>& members) {
    return judge_members(members, 2).until_takeover;
  };
  const Judgement soon = judged(Verdict::busy, 10ms);
  const Judgement later = judged(Verdict::busy, 20ms);
  const Judgement never = judged(Verdict::busy);
  CHECK(until({later, soon, later}) == 20ms);
  CHECK(until({later, never, soon}) == 20ms);
  CHECK(until({never, soon, never}) == 0ms);
  CHECK(until({judged(Verdict::free), soon, never}) == 10ms);
  CHECK(until({judged(Verdict::busy, 1ms), judged(Verdict::dead), soon}) == 1ms);
  SECTION("as members say it in their order where it is the same") {
    Judgement first = soon;
    first.elapsed = 1ms;
    Judgement second = soon;
    second.elapsed = 2ms;
    CHECK(judge_members({first, second, later}, 2).elapsed == 2ms);
  }
  SECTION("and at no time that is known where fewer than a majority answer") {
    CHECK(until({soon}) == 0ms);
    CHECK(until({soon, later}) == 20ms);
  }
}

// Somebody has written another hold into one member, and its holder does not ping.
TEST_CASE("a mirrored lock is busy for the reason of the member that decides", "[mirrored][M4]") {
  Judgement strange = judged(Verdict::busy);
  strange.reason = Reason::ping_missing;
  Judgement living = judged(Verdict::busy, 10ms);
  living.reason = Reason::pinged_recently;
  const std::size_t place = GENERATE(0, 1, 2);
  std::vector<Judgement> members(3, living);
  members[place] = strange;
  CHECK(judge_members(members, 2).reason == Reason::pinged_recently);
  CHECK(judge_members({strange, living, strange}, 2).reason == Reason::ping_missing);
}
