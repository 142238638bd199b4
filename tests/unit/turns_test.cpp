#include "turns.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace distlock;
using namespace std::chrono_literals;

namespace {

const StoreTime kThen{1'700'000'000'000ms};

Token ticket_no(std::uint8_t number) { return Token{{number}}; }

Waiter waiter(std::uint8_t number, std::optional<StoreTime> passed_over = {}) {
  const std::string process = "p" + std::to_string(number);
  return {ticket_no(number), process, process + ":1:1", kThen - 1h, passed_over};
}

std::vector<std::string> processes(const std::vector<Waiter>& line) {
  std::vector<std::string> names;
  for (const Waiter& waiter : line) names.push_back(waiter.process);
  return names;
}

}  // namespace

TEST_CASE("the first in line may claim at once, the next two after a turn, the next four after two",
          "[line][R17]") {
  CHECK(line::open_places(0ms) == 1);
  CHECK(line::open_places(line::kTurn - 1ms) == 1);
  CHECK(line::open_places(line::kTurn) == 3);
  CHECK(line::open_places(2 * line::kTurn) == 7);
  CHECK(line::open_places(std::chrono::milliseconds::max()) > line::kPlacesMost);
  for (std::uint64_t place = 0; place < 2 * line::kPlacesMost; ++place) {
    const auto opens = line::opens_after(place);
    CHECK(line::open_places(opens) > place);
    if (opens > 0ms) CHECK(line::open_places(opens - 1ms) <= place);
  }
}

TEST_CASE("with each mark in a line turns are shorter, down to a third", "[line][R17]") {
  const std::vector<Waiter> line{waiter(1, kThen), waiter(2), waiter(3, kThen), waiter(4, kThen)};
  CHECK(line::pace_of({}) == 1);
  CHECK(line::pace_of({waiter(1), waiter(2)}) == 1);
  CHECK(line::pace_of({waiter(1, kThen), waiter(2)}) == 2);
  CHECK(line::pace_of({waiter(1, kThen), waiter(2, kThen)}) == 3);
  CHECK(line::pace_of(line) == 3);
  CHECK(line::open_places(49ms, 2) == 1);
  CHECK(line::open_places(50ms, 2) == 3);
  CHECK(line::open_places(33ms, 3) == 1);
  CHECK(line::open_places(34ms, 3) == 3);
  CHECK(line::open_places(100ms, 3) == 15);
  CHECK(line::open_places(std::chrono::milliseconds::max(), 3) > line::kPlacesMost);
  CHECK_FALSE(line::may_claim(ticket_no(9), line, kThen, kThen + 33ms));
  CHECK(line::may_claim(ticket_no(9), line, kThen, kThen + 34ms));
  for (const int pace : {2, 3}) {
    for (std::uint64_t place = 0; place < line::kPlacesMost; ++place) {
      const auto opens = line::opens_after(place, pace);
      CHECK(line::open_places(opens, pace) > place);
      if (opens > 0ms) CHECK(line::open_places(opens - 1ms, pace) <= place);
      CHECK(line::rings_after(place, pace) >= opens);
      CHECK(line::rings_after(place, pace) < opens + line::kTurn / pace);
    }
  }
}

TEST_CASE("waiters are rung at the turns that a line with marks has", "[line][R17][R19]") {
  const std::vector<Waiter> line{waiter(1, kThen), waiter(2), waiter(3), waiter(4)};
  CHECK(line::rings_after(ticket_no(3), line) == 50ms);
  CHECK(line::rings_after(ticket_no(4), line) == 75ms);
  CHECK(line::turn_in(ticket_no(3), line, kThen, kThen + 20ms) == 30ms);
  const line::Turns turns = line::turns_in(line, kThen, kThen + 20ms);
  CHECK(turns.then == "p3");
  CHECK(turns.then_in == 30ms);
  CHECK(line::freed(line).then_in == 50ms);
  CHECK(line::freed({waiter(1), waiter(2)}).then_in == line::kTurn);
}

TEST_CASE("a newcomer counts as the last in line", "[line][R17]") {
  const std::vector<Waiter> two{waiter(1), waiter(2)};
  CHECK(line::place_of(ticket_no(1), two) == 0);
  CHECK(line::place_of(ticket_no(2), two) == 1);
  CHECK(line::place_of(ticket_no(3), two) == 2);
  CHECK(line::place_of(ticket_no(3), {}) == 0);
  CHECK(line::may_claim(ticket_no(1), two, kThen, kThen));
  CHECK_FALSE(line::may_claim(ticket_no(2), two, kThen, kThen));
  CHECK_FALSE(line::may_claim(ticket_no(3), two, kThen, kThen));
  CHECK(line::may_claim(ticket_no(3), two, kThen - line::kTurn, kThen));
}

TEST_CASE("a lock counts as just freed for a request that was on its way for ten seconds at most",
          "[line][R17]") {
  const std::vector<Waiter> line{waiter(1), waiter(2), waiter(3)};
  const StoreTime asked = kThen - line::kOnItsWayMost;
  CHECK(line::may_claim(ticket_no(1), line, kThen, asked));
  CHECK_FALSE(line::may_claim(ticket_no(3), line, kThen, asked));
  CHECK(line::may_claim(ticket_no(3), line, kThen, asked - 1ms));
}

TEST_CASE("a ticket that was passed over is first again, and nobody waits for it", "[line][R17]") {
  const std::vector<Waiter> line{waiter(1, kThen - 1s), waiter(2), waiter(3)};
  CHECK(line::may_claim(ticket_no(1), line, kThen, kThen));
  CHECK(line::may_claim(ticket_no(2), line, kThen, kThen));
  CHECK_FALSE(line::may_claim(ticket_no(3), line, kThen, kThen));
  CHECK(line::waits(ticket_no(2), line));
  CHECK_FALSE(line::waits(ticket_no(1), line));
  CHECK_FALSE(line::waits(ticket_no(4), line));
}

TEST_CASE("a claim marks the tickets that it passes over, and none behind", "[line][R17]") {
  const auto after =
      line::after_claim(ticket_no(3), {waiter(1), waiter(2), waiter(3), waiter(4)}, kThen);
  CHECK(processes(after) == std::vector<std::string>{"p1", "p2", "p4"});
  CHECK(after[0].passed_over == kThen);
  CHECK(after[1].passed_over == kThen);
  CHECK_FALSE(after[2].passed_over);
}

TEST_CASE("a mark keeps its time, and an old one takes the ticket out of the line", "[line][R17]") {
  const auto marked = kThen - line::kMarkedMost;
  const auto after = line::after_claim(
      ticket_no(3), {waiter(1, marked - 1ms), waiter(2, marked), waiter(3), waiter(4)}, kThen);
  CHECK(processes(after) == std::vector<std::string>{"p2", "p4"});
  // Of another clock's future.
  const auto ahead = kThen + line::kMarkedMost;
  const auto others = line::after_claim(
      ticket_no(3), {waiter(1, ahead + 1ms), waiter(2, ahead), waiter(3), waiter(4)}, kThen);
  CHECK(processes(others) == std::vector<std::string>{"p2", "p4"});
  CHECK(after[0].passed_over == marked);
}

TEST_CASE("a release tells of the first in line and all who were passed over, and of the next one",
          "[line][R17][R19]") {
  const Freed alone = line::freed({});
  CHECK(alone.result == ReleaseResult::freed);
  CHECK(alone.next.empty());
  CHECK(alone.then.empty());
  const Freed freed =
      line::freed({waiter(1, kThen), waiter(2), waiter(3), waiter(4), waiter(5, kThen)});
  CHECK(freed.next == std::vector<std::string>{"p1", "p2", "p5"});
  CHECK(freed.then == "p3");
  CHECK(line::freed({waiter(7, kThen), waiter(7)}).next == std::vector<std::string>{"p7"});
}

TEST_CASE("the turns of a line are told as they come", "[line][R17][R19]") {
  std::vector<Waiter> line;
  for (int i = 0; i < 8; ++i) line.push_back(waiter(static_cast<std::uint8_t>(i)));
  const auto turns = [&](auto free_for) { return line::turns_in(line, kThen, kThen + free_for); };
  CHECK(turns(99ms).now == std::vector<std::string>{"p0"});
  CHECK(turns(99ms).then == "p1");
  CHECK(turns(99ms).then_in == 1ms);
  CHECK(turns(100ms).now == std::vector<std::string>{"p0", "p1"});
  CHECK(turns(100ms).then == "p2");
  CHECK(turns(100ms).then_in == 50ms);
  CHECK(turns(299ms).now.size() == 7);
  CHECK(turns(299ms).then_in == 1ms);
  CHECK(turns(300ms).now.size() == 8);
  CHECK(turns(300ms).then.empty());
  // A request that the release has overtaken, and a clock that was set back.
  CHECK(turns(-10s).now == std::vector<std::string>{"p0"});
  CHECK(turns(-10'001ms).now.size() == 8);
}

TEST_CASE("those whose turn comes together are rung one after the other within it",
          "[line][R17][R19]") {
  std::vector<std::chrono::milliseconds> after;
  for (std::uint64_t place = 0; place < 8; ++place) after.push_back(line::rings_after(place));
  CHECK(after == std::vector<std::chrono::milliseconds>{0ms, 100ms, 150ms, 200ms, 225ms, 250ms,
                                                        275ms, 300ms});
  for (std::uint64_t place = 0; place < line::kPlacesMost; ++place) {
    CHECK(line::rings_after(place) >= line::opens_after(place));
    CHECK(line::rings_after(place) < line::opens_after(place) + line::kTurn);
  }
}

TEST_CASE("after a release by a program without a line everybody may claim", "[line][R17]") {
  CHECK(line::may_claim(ticket_no(9), {waiter(1), waiter(2)}, std::nullopt, kThen));
}

TEST_CASE("no time of a release in a document overflows", "[line][R14]") {
  const std::vector<Waiter> line{waiter(1), waiter(2, StoreTime::min()),
                                 waiter(3, StoreTime::max())};
  for (const StoreTime freed : {StoreTime::min(), StoreTime{0ms}, StoreTime::max()}) {
    for (const StoreTime now : {StoreTime::min(), StoreTime{0ms}, StoreTime::max()}) {
      CHECK(line::may_claim(ticket_no(1), line, freed, now));
      CHECK(line::may_claim(ticket_no(9), line, freed, now) == (freed != now));
      CHECK(line::after_claim(ticket_no(1), line, now).size() <= 2);
    }
  }
}

TEST_CASE("a line has a thousand places", "[line][R17]") {
  std::vector<Waiter> line;
  for (int i = 0; i < 1001; ++i) {
    Waiter next = waiter(0);
    next.ticket =
        Token{{1, static_cast<std::uint8_t>(i / 256), static_cast<std::uint8_t>(i % 256)}};
    line = line::after_refusal(next, std::move(line));
  }
  CHECK(line.size() == 1000);
}

TEST_CASE("a place that was passed over is kept for a minute", "[line][R17]") {
  const auto after = line::after_claim(
      ticket_no(3), {waiter(1, kThen - 61s), waiter(2, kThen - 59s), waiter(3)}, kThen);
  CHECK(processes(after) == std::vector<std::string>{"p2"});
}
