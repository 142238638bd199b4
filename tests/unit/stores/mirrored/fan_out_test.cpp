#include "stores/mirrored/fan_out.h"

#include <catch2/catch.hpp>
#include <memory>
#include <new>
#include <optional>

#include "support/manual_clock.h"

using namespace distlock;
using namespace distlock::mirrored;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a member whose call never began has not been written to", "[mirrored][M2][R8]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto member = std::make_shared<Member>(make_memory_store(clock), Place{0, 1}, clock,
                                               std::make_shared<KnownReturns>());
  const bool begun = GENERATE(false, true);
  Answers<int> answers({member}, 1, {.kind = CallKind::write}, clock->steady_now());
  if (begun) REQUIRE(answers.begin(0, clock->steady_now()));
  const auto replies = answers.close({member});
  REQUIRE(replies.at(0).failure);
  CHECK(replies[0].failure->errc() == (begun ? Errc::outcome_unknown : Errc::not_applied));
  // It waited for its turn in this process, which says nothing about the member.
  CHECK(member->answers(CallKind::read) == !begun);
  CHECK(member->answers(CallKind::write) == !begun);
  // The thread that comes to it now leaves it alone.
  CHECK_FALSE(answers.begin(0, clock->steady_now()));
}

TEST_CASE("a call that needs no majority waits for no member that writes nothing, and is made",
          "[mirrored][M2][M9]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto member = std::make_shared<Member>(make_memory_store(clock), Place{0, 3}, clock,
                                               std::make_shared<KnownReturns>());
  const bool writes = GENERATE(false, true);
  if (!writes) member->note_silence(CallKind::write);
  member->note_outcome(CallKind::read, std::nullopt);
  const SteadyTime until = clock->steady_now() + 1s;
  Answers<int> answers({member}, 3, {.kind = CallKind::write, .for_majority = false}, until);
  CHECK(answers.enough().stop_requested() == !writes);
  const auto replies = answers.close({member});
  REQUIRE(replies.at(0).failure);
  CHECK(replies[0].failure->errc() == (writes ? Errc::not_applied : Errc::outcome_unknown));
  CHECK(answers.begin(0, until) == !writes);
  // A member that was away for long is not asked for all of the time at once.
  CHECK_FALSE(answers.begin(0, until + 1ms));
}

TEST_CASE("a write that nobody waited for says nothing about reads of that member",
          "[mirrored][M2]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto member = std::make_shared<Member>(make_memory_store(clock), Place{0, 1}, clock,
                                               std::make_shared<KnownReturns>());
  member->note_silence(CallKind::write);
  CHECK_FALSE(member->answers(CallKind::read));
  member->note_outcome(CallKind::read, std::nullopt);
  Answers<int> answers({member}, 1, {.kind = CallKind::write}, clock->steady_now());
  REQUIRE(answers.begin(0, clock->steady_now()));
  static_cast<void>(answers.close({member}));
  CHECK(member->answers(CallKind::read));
  member->note_outcome(CallKind::write, Error(Errc::outcome_unknown, "no answer in time"));
  CHECK(member->answers(CallKind::read));
  CHECK_FALSE(member->answers(CallKind::write));
}

TEST_CASE("news of a member are told once, and also after many others", "[mirrored][log][M6]") {
  const auto clock = std::make_shared<ManualClock>();
  Member member(make_memory_store(clock), Place{0, 1}, clock, std::make_shared<KnownReturns>());
  for (int i = 0; i < 1000; ++i) {
    const std::string news = "news " + std::to_string(i);
    CHECK(member.tells_first(news));
    CHECK_FALSE(member.tells_first(news));
  }
}

TEST_CASE("a ping says something about writes only where the last one was in vain",
          "[mirrored][M2][M5]") {
  const auto clock = std::make_shared<ManualClock>();
  Member member(make_memory_store(clock), Place{0, 1}, clock, std::make_shared<KnownReturns>());
  const auto answers = [&] {
    return std::pair{member.answers(CallKind::ping), member.answers(CallKind::write)};
  };
  member.note_silence(CallKind::write);
  CHECK(answers() == std::pair{true, false});
  member.note_outcome(CallKind::ping, std::nullopt);
  CHECK(answers() == std::pair{true, false});
  member.note_silence(CallKind::ping);
  CHECK(answers() == std::pair{false, false});
  member.note_outcome(CallKind::ping, std::nullopt);
  CHECK(answers() == std::pair{true, true});
  member.note_outcome(CallKind::ping, Error(Errc::permission_denied, "it is read-only"));
  CHECK(answers() == std::pair{false, false});
}

TEST_CASE("an answer to a read says nothing about writes of that member", "[mirrored][M2]") {
  const auto clock = std::make_shared<ManualClock>();
  Member member(make_memory_store(clock), Place{0, 1}, clock, std::make_shared<KnownReturns>());
  const auto answers = [&] {
    return std::pair{member.answers(CallKind::read), member.answers(CallKind::write)};
  };
  CHECK(answers() == std::pair{true, true});
  member.note_outcome(CallKind::write, Error(Errc::not_applied, "the disk is full"));
  CHECK(answers() == std::pair{false, false});
  member.note_outcome(CallKind::read, std::nullopt);
  CHECK(answers() == std::pair{true, false});
  member.note_outcome(CallKind::write, std::nullopt);
  CHECK(answers() == std::pair{true, true});
  member.note_outcome(CallKind::write, Error(Errc::permission_denied, "it is read-only"));
  CHECK(answers() == std::pair{true, false});
  member.note_outcome(CallKind::write, Error(Errc::bad_record, "one document of many"));
  CHECK(answers() == std::pair{true, true});
  member.note_outcome(CallKind::read, Error(Errc::not_applied, "it is away"));
  CHECK(answers() == std::pair{false, false});
}

namespace {

std::vector<std::shared_ptr<Member>> three_away(const std::shared_ptr<ManualClock>& clock) {
  std::vector<std::shared_ptr<Member>> members;
  for (std::size_t i = 0; i < 3; ++i) {
    members.push_back(std::make_shared<Member>(make_memory_store(clock), Place{i, 3}, clock,
                                               std::make_shared<KnownReturns>()));
    members.back()->note_silence(CallKind::read);
  }
  return members;
}

/// A call for one of whose copies there is no memory.
struct CopiedInVain {
  explicit CopiedInVain(std::shared_ptr<int> copies) : copies_left(std::move(copies)) {}
  CopiedInVain(const CopiedInVain& other) : copies_left(other.copies_left) {
    if ((*copies_left)-- == 0) throw std::bad_alloc();
  }
  CopiedInVain(CopiedInVain&&) = default;
  CopiedInVain& operator=(const CopiedInVain&) = delete;
  CopiedInVain& operator=(CopiedInVain&&) = delete;
  ~CopiedInVain() = default;

  int operator()(Member& member) const { return static_cast<int>(member.place.number); }

  std::shared_ptr<int> copies_left;
};

}  // namespace

TEST_CASE("members that were away are waited for until a majority has answered, not failed",
          "[mirrored][M2]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto members = three_away(clock);
  Answers<int> answers(members, 3, {}, clock->steady_now());
  const Reply<int> answer{.answer = 1, .failure = {}, .identity = {}};
  answers.give(0, {.answer = {}, .failure = Error(Errc::not_applied, "away"), .identity = {}});
  CHECK_FALSE(answers.enough().stop_requested());
  answers.give(1, answer);
  CHECK_FALSE(answers.enough().stop_requested());
  answers.give(2, answer);
  CHECK(answers.enough().stop_requested());
  CHECK(answers.close(members).at(2).answer == 1);
}

TEST_CASE("a member that was not waited for is no more silent than before", "[mirrored][M2]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto member = three_away(clock).front();
  const CallKind kind = GENERATE(CallKind::write, CallKind::ping);
  if (kind == CallKind::ping) {
    member->note_silence(CallKind::ping);
    member->note_outcome(CallKind::read, std::nullopt);
  }
  const bool reads = member->answers(CallKind::read);
  Answers<int> answers({member}, 3, {.kind = kind, .for_majority = false}, clock->steady_now());
  REQUIRE(answers.begin(0, clock->steady_now()));
  static_cast<void>(answers.close({member}));
  CHECK(member->answers(CallKind::read) == reads);
  // A call that shows that it is back.
  member->note_outcome(CallKind::read, std::nullopt);
  member->note_outcome(CallKind::ping, std::nullopt);
  CHECK(member->answers(CallKind::write));
}

TEST_CASE("an answer that does not count is not waited for as one of a majority",
          "[mirrored][M2][M6]") {
  constexpr Token kSet{{1}};
  const auto clock = std::make_shared<ManualClock>();
  MemberList members;
  for (std::size_t i = 0; i < 3; ++i) {
    members.push_back(std::make_shared<Member>(make_memory_store(clock), Place{i, 3}, clock,
                                               std::make_shared<KnownReturns>()));
  }
  members[2]->note_silence(CallKind::read);  // It may be back by now.
  const bool counts = GENERATE(false, true);
  SECTION("by the identity that was read after it") {
    Answers<int> answers(members, 3, CallRules{}.of_set(kSet), clock->steady_now());
    answers.give(0, {.answer = 5, .failure = {}, .identity = Identity{.set = kSet}});
    const Token other{{2}};
    answers.give(1,
                 {.answer = 5, .failure = {}, .identity = Identity{.set = counts ? kSet : other}});
    CHECK(answers.enough().stop_requested() == counts);
    answers.give(2, {.answer = 5, .failure = {}, .identity = Identity{.set = kSet}});
    CHECK(answers.enough().stop_requested());
  }
  SECTION("by the member itself") {
    const CallRules rules{.with_identity = false};
    Answers<std::optional<int>> answers(members, 3, rules.of_set(kSet), clock->steady_now());
    answers.give(0, {.answer = std::optional(5), .failure = {}, .identity = {}});
    const std::optional<int> second = counts ? std::optional(5) : std::nullopt;
    answers.give(1, {.answer = second, .failure = {}, .identity = {}});
    CHECK(answers.enough().stop_requested() == counts);
    answers.give(2, {.answer = std::optional(5), .failure = {}, .identity = {}});
    CHECK(answers.enough().stop_requested());
  }
}

TEST_CASE("want of memory for the call of one member loses no answer of the others",
          "[mirrored][M2][R8]") {
  MemberList members;
  for (std::size_t i = 0; i < 3; ++i) {
    members.push_back(std::make_shared<Member>(make_memory_store(), Place{i, 3}, host_clock(),
                                               std::make_shared<KnownReturns>()));
  }
  const auto copies_left = std::make_shared<int>(100);
  const MemberCall<int> call{CopiedInVain(copies_left)};
  *copies_left = 0;
  const CallRules rules{.kind = CallKind::write, .with_identity = false};
  const auto replies =
      ask<int>(members, 3, MirrorDrive::own_threads, *host_clock(), 60s, rules, call);
  REQUIRE(replies.at(0).failure);
  CHECK(replies[0].failure->errc() == Errc::not_applied);
  CHECK(replies[1].answer == 1);
  CHECK(replies[2].answer == 2);
}

TEST_CASE("an answer that comes too late is silence, unless a later call was quick",
          "[mirrored][M2]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto member =
      std::make_shared<Member>(make_memory_store(clock, {.call_limit = 1s}), Place{0, 1}, clock,
                               std::make_shared<KnownReturns>());
  const SteadyTime asked = clock->steady_now();
  const std::optional<Error> failure =
      GENERATE(std::optional<Error>(), std::optional(Error(Errc::permission_denied, "no")));
  clock->advance(2s);
  SECTION("in time") {
    member->note_reply(CallKind::read, {}, asked);
    CHECK(member->answers(CallKind::read));
  }
  clock->advance(1ms);
  SECTION("too late") {
    member->note_reply(CallKind::read, failure, asked);
    CHECK_FALSE(member->answers(CallKind::read));
    member->note_reply(CallKind::read, {}, clock->steady_now());
    CHECK(member->answers(CallKind::read));
  }
  SECTION("after a quick one that was asked later") {
    member->note_reply(CallKind::read, {}, asked + 1s);
    member->note_reply(CallKind::read, failure, asked);
    CHECK(member->answers(CallKind::read));
  }
}
