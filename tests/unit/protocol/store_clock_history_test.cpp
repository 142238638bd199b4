#include "protocol/store_clock_history.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace std::chrono_literals;

namespace {

constexpr auto kHistoryWindow = 16min;
constexpr auto kLimit = 30s;

class History {
 public:
  explicit History(std::chrono::nanoseconds grain = 15s) : history(grain) {}

  /// The store answers at once, `at` after the start, with a clock that is `off`.
  void read(std::chrono::nanoseconds at, std::chrono::milliseconds off, std::string clock = "c1") {
    read_slowly(at, at, off, std::move(clock));
  }
  void read_slowly(std::chrono::nanoseconds sent, std::chrono::nanoseconds received,
                   std::chrono::milliseconds off, std::string clock = "c1") {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(sent);
    history.note({StoreTime{1000h + time + off}, std::move(clock)},
                 {SteadyTime{sent}, SteadyTime{received}});
  }
  bool stepped(std::chrono::nanoseconds at, const std::string& clock = "c1") {
    return history.stepped(clock, SteadyTime{at}, kHistoryWindow, kLimit);
  }
  StoreClockHistory history;
};

}  // namespace

TEST_CASE("a step of the store's clock is seen, both ways, beyond the limit only", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  const auto sign = GENERATE(1, -1);
  history.read(60s, sign * 30s);
  CHECK_FALSE(history.stepped(60s));
  history.read(120s, sign * 30001ms);
  CHECK(history.stepped(120s));
}

TEST_CASE("small steps add up within a window", "[clock][R5]") {
  History history;
  for (int i = 0; i <= 4; ++i) history.read(i * 1min, i * 10s);
  CHECK(history.stepped(4min));
}

TEST_CASE("a step is over a whole window after it was first seen", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  history.read(60s, 10min);
  history.read(17min, 10min);
  CHECK(history.stepped(17min));
  CHECK_FALSE(history.stepped(17min + 1ms));
}

TEST_CASE("readings more than a day old are forgotten if no longer window was asked for",
          "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  history.read(1h, 10min);
  CHECK(history.history.stepped("c1", SteadyTime{1h}, 2h, kLimit));
  history.read(26h, 10min);
  CHECK_FALSE(history.history.stepped("c1", SteadyTime{26h}, 48h, kLimit));
}

TEST_CASE("a contender that was cut off for longer than the window sees the step", "[clock][R5]") {
  const auto away = GENERATE(2h, 72h);  // less than what is remembered at least, and more
  History history;
  history.read(0s, 0ms);
  history.read(1h, 0ms, "c2");
  history.read(away, 10min);
  CHECK(history.stepped(away));
}

TEST_CASE("a long window is remembered however many readings there are", "[clock][R5]") {
  StoreClockHistory history(1ns);
  const auto read = [&](std::chrono::seconds at, std::chrono::milliseconds off) {
    history.note({StoreTime{1000h + at + off}, "c1"}, {SteadyTime{at}, SteadyTime{at}});
  };
  CHECK_FALSE(history.stepped("c1", SteadyTime{0s}, 24h, kLimit));
  for (int second = 0; second < 80000; ++second) read(second * 1s, second < 10 ? 0min : 10min);
  CHECK(history.stepped("c1", SteadyTime{80000s}, 24h, kLimit));
}

TEST_CASE("different clocks are not compared", "[clock][R4]") {
  History history;
  history.read(0s, 0ms, "c1");
  history.read(60s, 10min, "c2");
  CHECK_FALSE(history.stepped(60s, "c1"));
  CHECK_FALSE(history.stepped(60s, "c2"));
}

TEST_CASE("a slow answer does not look like a step", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  history.read_slowly(60s, 120s, 55s);
  CHECK_FALSE(history.stepped(120s));
}

TEST_CASE("the latest time that a clock can say goes on from its last reading", "[clock][R8]") {
  History history;
  CHECK_FALSE(history.history.at_most(SteadyTime{0s}));
  history.read_slowly(10s, 12s, 0ms);
  REQUIRE(history.history.at_most(SteadyTime{20s}));
  CHECK(history.history.at_most(SteadyTime{20s})->time == StoreTime{1000h + 20s});
  CHECK(history.history.at_most(SteadyTime{20s})->clock == "c1");
  CHECK(history.history.at_most(SteadyTime{20s + 1ns})->time == StoreTime{1000h + 20s + 1ms});
}

TEST_CASE("a clock that says a date far off is not stepped by that", "[clock][R5]") {
  const auto off = GENERATE(values<std::chrono::hours>(
      {24h * 365 * 80, 24h * 365 * 140, 24h * 365 * 8029, -24h * 365 * 400}));
  History history;
  for (int i = 0; i < 20; ++i) history.read(i * 1min, off);
  CHECK_FALSE(history.stepped(19min));
  history.read(20min, off + 31s);
  CHECK(history.stepped(20min));
}

TEST_CASE("a store time beyond all sense does not overflow", "[clock][R5]") {
  StoreClockHistory history(15s);
  history.note({StoreTime{StoreTime::duration::max() / 2}, "c1"}, {});
  history.note({StoreTime{StoreTime::duration::min() / 2}, "c1"}, {});
  CHECK(history.stepped("c1", SteadyTime{}, kHistoryWindow, kLimit));
}

TEST_CASE("the latest time of a clock beyond all sense does not overflow", "[clock][R8]") {
  StoreClockHistory history(15s);
  history.note({StoreTime::max() - 1ms, "c1"}, {});
  CHECK(history.at_most(SteadyTime{1h})->time == StoreTime::max());
}

TEST_CASE("readings within a grain count together, each with its step", "[clock][R5]") {
  const auto sign = GENERATE(1, -1);
  History history;
  history.read(0s, 0ms);
  history.read(10s, sign * 40s);
  CHECK(history.stepped(10s));
  history.read(14s, sign * 20s);
  CHECK(history.stepped(14s));
}

TEST_CASE("readings within a grain are as young as the last of them", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  history.read(60s, 10min);
  history.read(70s, 10min);
  history.read(17min, 10min);
  CHECK(history.stepped(16min + 70s));
  CHECK_FALSE(history.stepped(16min + 70s + 1ms));
}

TEST_CASE("readings a whole grain apart are two", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  history.read(60s, 10min);
  history.read(75s, 10min);
  history.read(17min, 10min);
  CHECK(history.stepped(16min + 60s));
  CHECK_FALSE(history.stepped(16min + 60s + 1ms));
}

TEST_CASE("a step is over, however close together the readings are", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  for (auto at = 10s; at <= 40min; at += 10s) history.read(at, 10min);
  CHECK_FALSE(history.stepped(40min));
}

TEST_CASE("readings of different clocks within a grain are not compared", "[clock][R4]") {
  History history;
  history.read(0s, 0ms, "c1");
  history.read(5s, 10min, "c2");
  history.read(10s, 0ms, "c1");
  CHECK_FALSE(history.stepped(10s, "c1"));
  CHECK_FALSE(history.stepped(10s, "c2"));
  history.read(12s, 10min, "c1");
  CHECK(history.stepped(12s, "c1"));
}

TEST_CASE("a date that would overflow into a sound one is a step", "[clock][R5]") {
  // So many milliseconds are a multiple of 2^64 nanoseconds.
  constexpr std::chrono::milliseconds kWholeRounds{std::int64_t{1} << 58};
  const auto sign = GENERATE(1, -1);
  History history;
  history.read(0s, 0ms);
  history.read(60s, sign * kWholeRounds);
  CHECK(history.stepped(60s));
}

TEST_CASE("the newest reading from before the longest window is kept", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  SECTION("though younger ones of its clock are there") {
    history.read(30h, 10min);
    history.read(31h, 10min);
    CHECK(history.history.stepped("c1", SteadyTime{31h}, 2h, kLimit));
  }
  SECTION("though one is just as old as that window") {
    history.read(1h, 10min);
    history.read(25h, 10min);
    CHECK(history.history.stepped("c1", SteadyTime{25h}, 24h, kLimit));
  }
}

TEST_CASE("readings that are thinned out lose no step", "[clock][R5]") {
  const auto sign = GENERATE(1, -1);
  const int odd_one = GENERATE(100, 101);
  History history(1ns);
  for (int i = 0; i < 5000; ++i) history.read(i * 100ms, i == odd_one ? sign * 40s : 0s);
  CHECK(history.stepped(500s));
}

TEST_CASE("readings that are thinned out mix no clocks", "[clock][R4]") {
  History history(1ns);
  for (int i = 0; i < 5000; ++i) {
    history.read(i * 100ms, i % 2 == 0 ? 0min : 10min, i % 2 == 0 ? "c1" : "c2");
  }
  CHECK_FALSE(history.stepped(500s, "c1"));
  CHECK_FALSE(history.stepped(500s, "c2"));
}

TEST_CASE("readings of clocks that take turns are as few as those of one", "[clock][R5]") {
  const char* const clocks[] = {"c1", "c2", "c3"};
  SECTION("within a grain they are one each") {
    History history(1h);
    for (int i = 0; i < 300; ++i) history.read(i * 100ms, 0s, clocks[i % 3]);
    CHECK(history.history.readings() == 3);
  }
  SECTION("beyond it they are thinned out") {
    History history(1ns);
    for (int i = 0; i < 20000; ++i) history.read(i * 100ms, 0s, clocks[i % 3]);
    CHECK(history.history.readings() <= 4096);
  }
}

TEST_CASE("readings that became one are as young as the last of them", "[clock][R5]") {
  History history(1ns);
  history.read(0s, 0ms);
  history.read(1s, 0ms);
  history.read(60s, 10min);
  history.read(70s, 10min);
  for (int i = 0; i < 5000; ++i) history.read(17min + i * 1ms, 10min);
  CHECK(history.stepped(16min + 70s));
  CHECK_FALSE(history.stepped(16min + 70s + 1ms));
}

TEST_CASE("readings are kept for the longest window that was asked for", "[clock][R5]") {
  History history;
  history.read(0s, 0ms);
  CHECK_FALSE(history.history.stepped("c1", SteadyTime{0s}, 48h, kLimit));
  history.read(1h, 10min);
  history.read(26h, 10min);
  history.read(40h, 10min);
  CHECK(history.history.stepped("c1", SteadyTime{40h}, 48h, kLimit));
}

TEST_CASE("a first reading long after the machine's start is as good as any", "[clock][R5]") {
  History history;
  history.read(1000h, 0ms);
  CHECK_FALSE(history.stepped(1000h));
  history.read(1000h + 1min, 10min);
  CHECK(history.stepped(1000h + 1min));
}
