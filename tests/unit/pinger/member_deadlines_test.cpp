#include "pinger/member_deadlines.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace distlock;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::nanoseconds kSpan = 10s;

Token member(std::size_t number) { return Token{{static_cast<std::uint8_t>(number + 1)}}; }

MemberPing ping_of(std::size_t number, std::chrono::nanoseconds sent,
                   std::chrono::nanoseconds received) {
  return {member(number), {}, SteadyTime{sent}, SteadyTime{received}};
}
MemberPing ping_of(std::size_t number, std::chrono::nanoseconds sent) {
  return ping_of(number, sent, sent);
}

// The earliest time at which members that did not grant, and those whose own time is over, are a
// majority.
SteadyTime rival_from(const std::vector<std::optional<SteadyTime>>& deadlines,
                      std::size_t majority) {
  for (int second = 0; second < 100; ++second) {
    const SteadyTime now{std::chrono::seconds{second}};
    const auto open = std::count_if(deadlines.begin(), deadlines.end(),
                                    [&](const auto& until) { return !until || *until <= now; });
    if (static_cast<std::size_t>(open) >= majority) {
      return second == 0 ? SteadyTime::min() : now;
    }
  }
  return SteadyTime::max();
}

}  // namespace

TEST_CASE("a hold is valid until a rival could get a majority, for every set of members",
          "[validity][M5][R9][one_thread]") {
  const std::size_t members = GENERATE(1, 3, 5, 7, 9);
  const std::size_t majority = members / 2 + 1;
  // Each second of its own where that are not too many.
  const int seconds = members > 5 ? 3 : static_cast<int>(members);
  // Each member either did not grant it (0), or was pinged at that second.
  std::vector<int> pinged(members, 0);
  int holds = 0;
  bool more = true;
  while (more) {
    std::vector<MemberPing> pings;
    std::vector<Token> granted;
    std::vector<std::optional<SteadyTime>> own(members);
    for (std::size_t i = 0; i < members; ++i) {
      const std::chrono::seconds sent{pinged[i]};
      pings.push_back(ping_of(i, sent));
      if (pinged[i] == 0) continue;
      granted.push_back(member(i));
      own[i] = SteadyTime{sent + kSpan};
    }
    MemberDeadlines deadlines;
    deadlines.begin(pings, majority, kSpan);
    deadlines.keep_only(granted);
    const SteadyTime expected =
        granted.size() < majority ? SteadyTime::min() : rival_from(own, majority);
    if (deadlines.until() != expected) {
      FAIL_CHECK("not the moment at which a rival could have a majority");
    }
    if (expected != SteadyTime::min()) ++holds;
    std::size_t i = 0;
    while (i < members && ++pinged[i] > seconds) pinged[i++] = 0;
    more = i < members;
  }
  CHECK(holds > 0);
}

TEST_CASE("one member that confirms no ping costs a hold of all three nothing",
          "[validity][M5][R9]") {
  MemberDeadlines deadlines;
  deadlines.begin({ping_of(0, 1s), ping_of(1, 1s), ping_of(2, 1s)}, 2, kSpan);
  deadlines.keep_only({member(0), member(1), member(2)});
  deadlines.extend({ping_of(0, 8s), ping_of(1, 9s), ping_of(2, 1s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{18s});
  deadlines.extend({ping_of(0, 16s), ping_of(1, 17s), ping_of(2, 1s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{26s});
}

TEST_CASE("a member that confirms a ping too late protects the hold no more",
          "[validity][M5][R9]") {
  MemberDeadlines deadlines;
  deadlines.begin({ping_of(0, 1s), ping_of(1, 1s), ping_of(2, 1s)}, 2, kSpan);
  deadlines.keep_only({member(0), member(1), member(2)});
  deadlines.extend({ping_of(0, 8s), ping_of(1, 8s), ping_of(2, 10s, 11s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{18s});
  // Were the third still counted, this would be 22 s.
  deadlines.extend({ping_of(0, 8s), ping_of(1, 15s), ping_of(2, 12s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{18s});
}

TEST_CASE("the ping of another life of a member moves no deadline", "[validity][M5][M6]") {
  MemberDeadlines deadlines;
  deadlines.begin({ping_of(0, 1s), ping_of(1, 1s)}, 2, kSpan);
  deadlines.keep_only({member(0), member(1)});
  deadlines.extend({ping_of(0, 8s), ping_of(7, 8s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{11s});
}

TEST_CASE("a member that grants a hold anew protects it again, by the ping before",
          "[validity][M5][M9]") {
  MemberDeadlines deadlines;
  deadlines.begin({ping_of(0, 0s), ping_of(1, 0s)}, 2, kSpan);
  deadlines.extend({ping_of(0, 5s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{kSpan});
  CHECK(deadlines.protects(member(1), SteadyTime{kSpan - 1ns}));
  CHECK_FALSE(deadlines.protects(member(1), SteadyTime{kSpan}));
  CHECK_FALSE(deadlines.protects(member(2), SteadyTime{1s}));
  SECTION("one that lacked it") {
    deadlines.add(ping_of(2, 6s), kSpan);
    CHECK(deadlines.until() == SteadyTime{15s});
    CHECK(deadlines.protects(member(2), SteadyTime{15s}));
  }
  SECTION("one whose time was over") {
    deadlines.extend({ping_of(1, 11s)}, kSpan);
    CHECK_FALSE(deadlines.protects(member(1), SteadyTime{12s}));
    deadlines.add(ping_of(1, 11s), kSpan);
    CHECK(deadlines.protects(member(1), SteadyTime{12s}));
    CHECK(deadlines.until() == SteadyTime{15s});
  }
}

TEST_CASE("a member that carries a hold no more is dropped, and no ping brings it back",
          "[validity][M5]") {
  MemberDeadlines deadlines;
  deadlines.begin({ping_of(0, 9s), ping_of(1, 8s), ping_of(2, 1s)}, 2, kSpan);
  CHECK(deadlines.until() == SteadyTime{18s});
  deadlines.drop({member(0), member(7)});
  CHECK(deadlines.until() == SteadyTime{11s});
  CHECK_FALSE(deadlines.protects(member(0), SteadyTime{9s}));
  deadlines.extend({ping_of(0, 10s), ping_of(1, 10s), ping_of(2, 1s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{11s});
  deadlines.drop({member(2)});
  CHECK(deadlines.until() == SteadyTime::min());
}

TEST_CASE("a member that grants a hold anew counts once, by its last grant", "[validity][M5][M9]") {
  MemberDeadlines deadlines;
  deadlines.begin({ping_of(0, 1s), ping_of(1, 1s), ping_of(2, 1s)}, 2, kSpan);
  deadlines.keep_only({member(0)});
  deadlines.add(ping_of(0, 5s), kSpan);
  CHECK(deadlines.until() == SteadyTime::min());
  CHECK(deadlines.protects(member(0), SteadyTime{15s - 1ns}));
  CHECK_FALSE(deadlines.protects(member(0), SteadyTime{15s}));
  deadlines.add(ping_of(2, 3s), kSpan);
  CHECK(deadlines.until() == SteadyTime{13s});
}

TEST_CASE("an older ping of a member that comes later does not move its deadline back",
          "[validity][M5][R9]") {
  MemberDeadlines deadlines;
  deadlines.begin({ping_of(0, 5s)}, 1, kSpan);
  deadlines.extend({ping_of(0, 2s)}, kSpan);
  CHECK(deadlines.until() == SteadyTime{15s});
}

TEST_CASE("a member whose place was given anew counts for no claim", "[validity][M5][M6]") {
  MemberDeadlines deadlines;
  MemberPing of_before = ping_of(1, 1s);
  of_before.counts = false;
  deadlines.begin({ping_of(0, 1s), of_before}, 2, kSpan);
  CHECK(deadlines.until() == SteadyTime::min());
}
