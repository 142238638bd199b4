// Which members of a mirrored store protect a hold, as pings, repairs and looks tell.
#include <catch2/catch.hpp>

#include "pinger/holds.h"

using namespace distlock;
using namespace std::chrono_literals;

namespace {

Token member_of(std::uint8_t number) { return Token{{number}}; }

/// A hold of a minute on three members, and what it is told.
struct OnThree {
  OnThree() {
    holds.enlist(hold, ts);
    holds.begin_claim(*hold, {ping(1, 0s), ping(2, 0s), ping(3, 0s)}, 2);
    REQUIRE(holds.begin(*hold, ts, {member_of(1), member_of(2)}, kThen));
    holds.on_at_risk(*hold, [this](SteadyTime) { ++warned; });
    due = holds.announce_due(kThen);
  }

  static MemberPing ping(std::uint8_t number, std::chrono::nanoseconds sent) {
    return {member_of(number), {}, kThen + sent, kThen + sent};
  }
  static MemberPing ping_of_before(std::uint8_t number) {
    MemberPing ping = OnThree::ping(number, 0s);
    ping.counts = false;
    return ping;
  }
  std::chrono::nanoseconds deadline() const { return hold->validity.until() - kThen; }
  ActiveHold it() const { return {hold, ts}; }
  ActiveHold another() const { return {hold, Token{{8}}}; }

  static constexpr SteadyTime kThen{1h};
  const Token ts{{7}};
  Holds holds{AnnounceOn::caller};
  std::shared_ptr<Hold> hold = std::make_shared<Hold>("jobs", 1min);
  Holds::Due due;
  int warned = 0;
};

using Tokens = std::vector<Token>;

}  // namespace

TEST_CASE("a hold is unprotected by the members that have not granted it", "[pinger][M5][M9]") {
  OnThree on;
  const std::vector pings{on.ping(1, 0s), on.ping(3, 0s)};
  const auto found = on.holds.unprotected(pings, on.kThen);
  REQUIRE(found.size() == 1);
  CHECK(found[0].hold.hold == on.hold);
  CHECK(found[0].hold.ts == on.ts);
  CHECK(found[0].by == Tokens{member_of(3)});
  CHECK(on.holds.unprotected({on.ping(1, 0s)}, on.kThen).empty());
  CHECK(on.holds.unprotecting(on.it(), pings, on.kThen) == Tokens{member_of(3)});
  CHECK(on.holds.unprotecting(on.another(), pings, on.kThen).empty());
  CHECK(on.holds.unprotecting(on.it(), pings, on.kThen + 60s).size() == 2);
  on.holds.retire(on.hold, on.kThen);
  CHECK(on.holds.unprotected(pings, on.kThen).empty());
  CHECK(on.holds.unprotecting(on.it(), pings, on.kThen).empty());
}

TEST_CASE("a hold is valid until its deadline, unless it was given up or is another",
          "[pinger][M9][R9]") {
  OnThree on;
  CHECK(on.holds.valid(on.it(), on.kThen + 60s - 1ns));
  CHECK_FALSE(on.holds.valid(on.another(), on.kThen));
  SECTION("its deadline has passed") { CHECK_FALSE(on.holds.valid(on.it(), on.kThen + 60s)); }
  SECTION("it was given up") {
    on.holds.retire(on.hold, on.kThen);
    CHECK_FALSE(on.holds.valid(on.it(), on.kThen));
  }
}

TEST_CASE("a member that has granted a hold moves its deadline on, and a warning is told anew",
          "[pinger][M9][R9]") {
  OnThree on;
  on.holds.announce_due(on.kThen + 30s);
  REQUIRE(on.warned == 1);
  SECTION("where it makes a later majority") {
    on.holds.extend({on.ping(1, 31s)}, on.kThen + 31s);
    CHECK(on.deadline() == 60s);
    CHECK(on.holds.protect(on.it(), {on.ping(3, 32s)}, on.kThen + 33s));
    CHECK(on.deadline() == 91s);
    on.holds.announce_due(on.kThen + 61s);
    CHECK(on.warned == 2);
  }
  SECTION("not where it makes none") {
    CHECK(on.holds.protect(on.it(), {on.ping(3, 32s)}, on.kThen + 33s));
    CHECK(on.deadline() == 60s);
    on.holds.announce_due(on.kThen + 34s);
    CHECK(on.warned == 1);
  }
}

TEST_CASE("a repair protects no hold that has ended, and no other", "[pinger][M9]") {
  OnThree on;
  SECTION("its deadline has passed") {
    CHECK_FALSE(on.holds.protect(on.it(), {on.ping(3, 0s)}, on.kThen + 60s));
  }
  SECTION("it was given up") {
    on.holds.retire(on.hold, on.kThen);
    CHECK_FALSE(on.holds.protect(on.it(), {on.ping(3, 0s)}, on.kThen));
  }
  SECTION("it is another") {
    CHECK_FALSE(on.holds.protect(on.another(), {on.ping(3, 0s)}, on.kThen));
  }
  CHECK_FALSE(on.holds.counts_on(on.it(), {member_of(3)}, on.kThen));
}

TEST_CASE("pings of members move a deadline on, and a warning is told anew", "[pinger][M5][R9]") {
  OnThree on;
  on.holds.announce_due(on.kThen + 30s);
  REQUIRE(on.warned == 1);
  on.holds.extend({on.ping(1, 10s)}, on.kThen + 31s);
  CHECK(on.deadline() == 60s);
  on.holds.announce_due(on.kThen + 32s);
  CHECK(on.warned == 1);
  on.holds.extend({on.ping(1, 10s), on.ping(2, 20s)}, on.kThen + 33s);
  CHECK(on.deadline() == 70s);
  on.holds.announce_due(on.kThen + 40s);
  CHECK(on.warned == 2);
}

TEST_CASE("a claim counts on the pings that members confirm meanwhile", "[pinger][M5][R9]") {
  OnThree on;
  on.holds.retire(on.hold, on.kThen);
  on.holds.enlist(on.hold, Token{{9}});
  on.holds.begin_claim(*on.hold, {on.ping(1, 0s), on.ping(2, 0s), on.ping(3, 0s)}, 2);
  on.holds.extend({on.ping(2, 5s), on.ping(3, 6s)}, on.kThen + 7s);
  CHECK(on.hold->validity.over(on.kThen));
  SECTION("two of three") {
    REQUIRE(on.holds.begin(*on.hold, Token{{9}}, {member_of(2), member_of(3)}, on.kThen + 7s));
    CHECK(on.deadline() == 65s);
  }
  SECTION("not on those that have not granted it") {
    CHECK_FALSE(on.holds.begin(*on.hold, Token{{9}}, {member_of(2)}, on.kThen + 7s));
  }
  SECTION("not on those whose place was given anew") {
    on.holds.forget_members({on.ping_of_before(3), on.ping(1, 0s)});
    CHECK_FALSE(on.holds.begin(*on.hold, Token{{9}}, {member_of(2), member_of(3)}, on.kThen + 7s));
  }
}

TEST_CASE("a hold counts on a member as long as that one protects it", "[pinger][M5]") {
  OnThree on;
  CHECK(on.holds.counts_on(on.it(), {member_of(3), member_of(2)}, on.kThen + 60s - 1ns));
  CHECK_FALSE(on.holds.counts_on(on.it(), {member_of(2)}, on.kThen + 60s));
  CHECK_FALSE(on.holds.counts_on(on.it(), {member_of(3)}, on.kThen));
  CHECK_FALSE(on.holds.counts_on(on.another(), {member_of(2)}, on.kThen));
  on.holds.retire(on.hold, on.kThen);
  CHECK_FALSE(on.holds.counts_on(on.it(), {member_of(2)}, on.kThen));
}

TEST_CASE("a member that lacks a hold protects it no more, and the watch hears of it",
          "[pinger][M5][R9]") {
  OnThree on;
  REQUIRE_FALSE(on.due.changed.stop_requested());
  SECTION("where it was another hold, it changes nothing") {
    on.holds.unprotect(on.another(), {member_of(2)});
    CHECK(on.deadline() == 60s);
    CHECK_FALSE(on.due.changed.stop_requested());
  }
  SECTION("where no majority is left, the hold has ended") {
    on.holds.unprotect(on.it(), {member_of(2)});
    CHECK(on.hold->validity.over(on.kThen));
    CHECK(on.due.changed.stop_requested());
    on.holds.announce_due(on.kThen);
    CHECK(on.holds.lost(*on.hold) == LossReason::deadline_passed);
  }
}

TEST_CASE("a member whose place was given anew protects no hold, and the watch hears of it",
          "[pinger][M6][R9]") {
  OnThree on;
  on.holds.forget_members({on.ping(1, 0s), on.ping(2, 0s)});
  CHECK(on.deadline() == 60s);
  CHECK_FALSE(on.due.changed.stop_requested());
  on.holds.forget_members({on.ping(1, 0s), on.ping_of_before(2)});
  CHECK(on.hold->validity.over(on.kThen));
  CHECK(on.due.changed.stop_requested());
}

TEST_CASE("pings of members that move a hold on wake a watch that would look too late",
          "[pinger][M5][R9]") {
  OnThree on;
  const Holds::Due due = on.holds.announce_due(on.kThen + 30s);
  REQUIRE(due.next == on.kThen + 60s);
  on.holds.extend({on.ping(1, 25s)}, on.kThen + 31s);
  CHECK_FALSE(due.changed.stop_requested());
  on.holds.extend({on.ping(1, 25s), on.ping(2, 25s)}, on.kThen + 32s);
  CHECK(due.changed.stop_requested());
  CHECK(on.holds.announce_due(on.kThen + 32s).next == on.kThen + 55s);
}

TEST_CASE("a repair that moves a hold on wakes a watch that would look too late",
          "[pinger][M9][R9]") {
  OnThree on;
  on.holds.extend({on.ping(1, 25s)}, on.kThen + 26s);
  const Holds::Due due = on.holds.announce_due(on.kThen + 30s);
  REQUIRE(due.next == on.kThen + 60s);
  REQUIRE_FALSE(due.changed.stop_requested());
  REQUIRE(on.holds.protect(on.it(), {on.ping(3, 25s)}, on.kThen + 31s));
  CHECK(on.deadline() == 85s);
  CHECK(due.changed.stop_requested());
  CHECK(on.holds.announce_due(on.kThen + 31s).next == on.kThen + 55s);
}
