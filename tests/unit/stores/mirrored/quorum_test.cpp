#include "stores/mirrored/quorum.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::mirrored;
using namespace distlock::testing;

namespace {

const Token kOver{{1}};
const Token kOther{{2}};

// Calls `check` with every list of `length` numbers below `below`.
template <class Check>
void with_each_list(std::size_t length, std::size_t below, const Check& check) {
  std::vector<std::size_t> list(length, 0);
  while (true) {
    check(list);
    std::size_t i = 0;
    while (i < length && ++list[i] == below) list[i++] = 0;
    if (i == length) return;
  }
}

template <class To>
std::vector<To> converted(const std::vector<std::size_t>& numbers, const std::vector<To>& values) {
  std::vector<To> list;
  for (const std::size_t number : numbers) list.push_back(values[number]);
  return list;
}

bool alike(const std::optional<Carried>& one, const std::optional<Carried>& other) {
  if (!one || !other) return one.has_value() == other.has_value();
  return one->ts == other->ts && one->state == other->state;
}

Inspection carrying(Fence fence, const std::optional<Token>& ts, bool taken) {
  Inspection seen;
  seen.fresh = true;
  seen.lock = LockRecord{.name = "jobs", .ts = ts, .fence = fence};
  seen.lock->state = taken ? LockState::taken : LockState::free;
  return seen;
}

/// Whether a hold of `kOver` on the first member, with the fence 5, is over by looks at all.
bool is_over(const std::vector<Inspection>& others) {
  std::vector<Inspection> seen{carrying(5, kOver, true)};
  seen.insert(seen.end(), others.begin(), others.end());
  return with_ends_of_holds(seen, 2).front().over;
}

}  // namespace

TEST_CASE("a mirrored store has an odd number of members, nine at most", "[mirrored][M1]") {
  for (const std::size_t good : {1U, 3U, 5U, 7U, 9U}) CHECK_NOTHROW(check_number(good));
  for (const std::size_t bad : {0U, 2U, 4U, 6U, 8U, 10U, 11U})
    CHECK(thrown_by([&] { check_number(bad); }) == Errc::invalid_argument);
}

TEST_CASE("two claims are never both held, whatever the members that granted them answer",
          "[mirrored][M1][M2]") {
  const std::size_t members = GENERATE(1, 3, 5);
  // A member grants one of the two at most. Its answer may get lost.
  enum : std::size_t { neither, first, second, first_lost, second_lost, states };
  with_each_list(members, states, [&](const auto& truth) {
    std::vector<Vote> of_first;
    std::vector<Vote> of_second;
    for (const std::size_t one : truth) {
      of_first.push_back(one == first        ? Vote::granted
                         : one == first_lost ? Vote::unknown
                                             : Vote::refused);
      of_second.push_back(one == second        ? Vote::granted
                          : one == second_lost ? Vote::unknown
                                               : Vote::refused);
    }
    const bool both =
        settle_claim(of_first) == Settled::held && settle_claim(of_second) == Settled::held;
    if (both) FAIL_CHECK("both are held");
  });
}

TEST_CASE("a claim is held, not held, or unknown as its unknown votes can still turn out",
          "[mirrored][M2]") {
  const std::size_t members = GENERATE(1, 3, 5);
  with_each_list(members, 3, [&](const auto& numbers) {
    const auto votes = converted<Vote>(numbers, {Vote::granted, Vote::refused, Vote::unknown});
    const auto granted = std::count(votes.begin(), votes.end(), Vote::granted);
    const auto unknown = std::count(votes.begin(), votes.end(), Vote::unknown);
    const auto majority = static_cast<std::ptrdiff_t>(majority_of(members));
    const Settled settled = settle_claim(votes);
    if ((settled == Settled::held) != (granted >= majority)) FAIL_CHECK("held");
    if ((settled == Settled::not_held) != (granted + unknown < majority)) FAIL_CHECK("not held");
  });
}

TEST_CASE("a release is settled once no majority can still carry the hold", "[mirrored][M3]") {
  const std::size_t members = GENERATE(1, 3, 5);
  const std::size_t majority = majority_of(members);
  const std::vector<MemberReleased> states = {
      {},
      {.may_have_freed = true},
      {.answer = ReleaseResult::freed, .granted = true},
      {.answer = ReleaseResult::already_free, .granted = true},
      {.answer = ReleaseResult::not_ours, .granted = true},
      {.answer = ReleaseResult::not_ours},
  };
  with_each_list(members, states.size(), [&](const auto& numbers) {
    const auto said = converted<MemberReleased>(numbers, states);
    const auto number_of = [&](std::size_t state) {
      return static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), state));
    };
    const auto result = settle_release(said);
    // A silent member may still carry it.
    const std::size_t silent = number_of(0) + number_of(1);
    if (result.has_value() != (silent < majority)) FAIL_CHECK("decided by too few, or not at all");
    if (!result) return;
    const bool foreign = number_of(4) + number_of(5) >= majority;
    // Somebody else ended it, for no rival gets behind a release that freed so few.
    const bool ended = number_of(4) >= majority;
    const bool in_part = foreign && !ended && number_of(1) + number_of(2) > 0;
    if ((*result == ReleaseResult::freed_in_part) != in_part) FAIL_CHECK("in part");
    if ((*result == ReleaseResult::not_ours) != (foreign && !in_part)) FAIL_CHECK("not ours");
    if ((*result == ReleaseResult::freed) != (!foreign && number_of(2) > 0)) FAIL_CHECK("freed");
  });
}

TEST_CASE("a hold is gone only if no majority can carry it", "[mirrored][M8]") {
  const std::size_t members = GENERATE(1, 3, 5);
  const Token ours{{1}};
  const std::vector<MemberCarries> states = {
      {false, {}},
      {true, {}},
      {true, Carried{ours, LockState::taken}},
      {true, Carried{ours, LockState::free}},
      {true, Carried{Token{{2}}, LockState::taken}},
      {true, Carried{ours, std::nullopt}},
  };
  with_each_list(members, states.size(), [&](const auto& numbers) {
    const auto carries = converted<MemberCarries>(numbers, states);
    const auto number_of = [&](std::size_t state) {
      return static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), state));
    };
    const std::size_t majority = majority_of(members);
    const CarriedByMajority settled = settle_carried(carries);
    const bool ours_taken = settled.carried && settled.carried->ts == ours &&
                            settled.carried->state == LockState::taken;
    if (number_of(2) >= majority && (settled.undecided || !ours_taken)) FAIL_CHECK("it is there");
    if (!settled.undecided && ours_taken != (number_of(2) >= majority)) FAIL_CHECK("by too few");
    const bool says_gone =
        !settled.undecided && !ours_taken && !(settled.carried && !settled.carried->state);
    const bool could_be = number_of(2) + number_of(0) + number_of(5) >= majority;
    if (says_gone && could_be) FAIL_CHECK("a majority may carry it");
  });
}

// By counting: whatever as many members show as make a majority is what the store shows.
TEST_CASE(
    "a document that a majority of members shows is settled, and one that none can show is free",
    "[mirrored][M8]") {
  const std::size_t members = GENERATE(1, 3, 5);
  const std::size_t majority = majority_of(members);
  const Token ours{{1}};
  const std::vector<std::optional<Carried>> shown = {
      std::nullopt,
      Carried{ours, LockState::taken},
      Carried{Token{{2}}, LockState::taken},
      Carried{ours, LockState::free},
      Carried{std::nullopt, LockState::taken},
      Carried{ours, std::nullopt},
  };
  const std::size_t silent = shown.size();
  constexpr std::size_t kOurs = 1;
  constexpr std::size_t kOthers = 2;
  constexpr std::size_t kOfNoState = 5;
  with_each_list(members, silent + 1, [&](const auto& numbers) {
    std::vector<MemberCarries> carries;
    std::vector<std::size_t> count(silent + 1, 0);
    for (const std::size_t number : numbers) {
      carries.push_back(number == silent ? MemberCarries{} : MemberCarries{true, shown[number]});
      ++count[number];
    }
    const CarriedByMajority settled = settle_carried(carries);
    const auto most = std::max_element(count.begin(), count.begin() + kOfNoState + 1);
    if (*most >= majority) {
      const auto& wanted = shown[static_cast<std::size_t>(most - count.begin())];
      if (settled.undecided || !alike(settled.carried, wanted)) FAIL_CHECK("a majority shows it");
      return;
    }
    const std::size_t unsure = count[silent] + count[kOfNoState];
    const bool may_be_held = std::max(count[kOurs], count[kOthers]) + unsure >= majority;
    if (settled.undecided != may_be_held) FAIL_CHECK("undecided");
    if (!alike(settled.carried, Carried{std::nullopt, LockState::free})) FAIL_CHECK("not free");
  });
}

TEST_CASE("a hold is carried alike in both states of a taken lock", "[mirrored][M8][R14]") {
  const Token ours{{1}};
  const MemberCarries taken{true, Carried{ours, LockState::taken}};
  const MemberCarries by_mongodb{true, Carried{ours, LockState::taken_by_mongodb}};
  const MemberCarries without{true, {}};
  for (const auto& members :
       {std::vector{taken, by_mongodb, without}, std::vector{without, by_mongodb, taken}}) {
    const CarriedByMajority settled = settle_carried(members);
    CHECK_FALSE(settled.undecided);
    REQUIRE(settled.carried);
    CHECK(settled.carried->ts == ours);
    CHECK(settled.carried->state != LockState::free);
  }
}

TEST_CASE("a hold is over where a majority has freed it, or has a greater fence",
          "[mirrored][M3]") {
  const Inspection freed = carrying(5, kOver, false);
  const Inspection greater = carrying(6, kOther, false);
  CHECK(is_over({freed, greater}));
  CHECK(is_over({greater, carrying(9, kOther, true)}));
  SECTION("not where it is still carried") {
    CHECK_FALSE(is_over({greater, carrying(5, kOver, true)}));
  }
  SECTION("not by a fence that a claim may have left which lost") {
    CHECK_FALSE(is_over({greater, carrying(5, kOther, false)}));
    CHECK_FALSE(is_over({greater, carrying(5, kOther, true)}));
  }
  SECTION("not by a member without the document, or that gave no answer") {
    Inspection absent;
    absent.fresh = true;
    CHECK_FALSE(is_over({greater, absent}));
    CHECK_FALSE(is_over({greater}));
  }
  SECTION("not by a look that may be old") {
    Inspection old = freed;
    old.fresh = false;
    CHECK_FALSE(is_over({greater, old}));
  }
  SECTION("by a member that came back with a fence that is as great") {
    Inspection back;
    back.fresh = true;
    back.fence_of_lost = 5;
    CHECK(is_over({greater, back}));
    back.fence_of_lost = 4;
    CHECK_FALSE(is_over({greater, back}));
  }
  SECTION("and a free lock is no hold") {
    CHECK_FALSE(with_ends_of_holds({freed, greater, greater}, 2).front().over);
  }
}

TEST_CASE("a great fence is left out only where a majority has none and no malformed document",
          "[mirrored][M3]") {
  CHECK(great_of_minority({kGreatFence, 1, 1}, 0, 2) == std::vector<std::size_t>{0});
  CHECK(great_of_minority({kGreatFence - 1, 1, 1}, 0, 2).empty());
  CHECK(great_of_minority({kGreatFence, 1, 0}, 1, 2).empty());
  // The malformed one has lost a great fence, too.
  CHECK(great_of_minority({kGreatFence, kGreatFence, kGreatFence}, 1, 2).empty());
}
