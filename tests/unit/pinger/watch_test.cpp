// When the watch looks at which hold, and what it tells of it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "pinger/holds.h"

using namespace distlock;
using namespace std::chrono_literals;

namespace {

/// Holds of a minute, and what they are told.
struct Watch {
  using Held = std::shared_ptr<Hold>;

  Held enlist(std::uint8_t number) {
    const auto hold = std::make_shared<Hold>("lock" + std::to_string(number), 1min);
    holds.enlist(hold, Token{{number}});
    return hold;
  }
  void begin(const Held& hold, std::uint8_t number, std::chrono::nanoseconds pinged = 0s) {
    hold->claim_validity.begin(kStart + pinged);
    REQUIRE(holds.begin(*hold, Token{{number}}, {}, kStart));
  }
  Held held(std::uint8_t number, std::chrono::nanoseconds pinged = 0s) {
    const Held hold = enlist(number);
    begin(hold, number, pinged);
    return hold;
  }
  /// When the next look is due, from the start.
  std::chrono::nanoseconds look(std::chrono::nanoseconds after) {
    due = holds.announce_due(kStart + after);
    return due.next - kStart;
  }
  void warn(const Held& hold) {
    holds.on_at_risk(*hold, [this](SteadyTime until) { warned.push_back(until - kStart); });
  }

  static constexpr SteadyTime kStart{1h};
  Holds holds{AnnounceOn::caller};
  Holds::Due due;
  std::vector<std::chrono::nanoseconds> warned;
};

using Times = std::vector<std::chrono::nanoseconds>;

}  // namespace

TEST_CASE("the watch looks when the first hold is at risk, and at its deadline", "[pinger][R9]") {
  Watch watch;
  const auto first = watch.held(1);
  const auto second = watch.held(2, 10s);
  const auto given_up = watch.enlist(3);
  watch.warn(first);
  CHECK(watch.look(0s) == 30s);
  CHECK(watch.look(30s - 1ns) == 30s);
  CHECK(watch.warned.empty());
  CHECK(watch.look(30s) == 40s);
  CHECK(watch.warned == Times{60s});
  CHECK(watch.look(40s) == 60s);
  CHECK(watch.look(60s) == 70s);
  CHECK(watch.holds.lost(*first) == LossReason::deadline_passed);
  CHECK_FALSE(watch.holds.lost(*second));
  watch.look(70s);
  CHECK(watch.due.next == SteadyTime::max());
  CHECK(watch.holds.lost(*second) == LossReason::deadline_passed);
  CHECK_FALSE(watch.holds.lost(*given_up));
  CHECK(watch.warned == Times{60s});
}

TEST_CASE("a hold that begins wakes the watch if it is at risk before the next look",
          "[pinger][R9]") {
  Watch watch;
  watch.look(0s);
  const auto first = watch.held(1);
  CHECK(watch.due.changed.stop_requested());
  watch.look(0s);
  CHECK_FALSE(watch.due.changed.stop_requested());
  const auto later = watch.held(2, 1s);
  const auto at_once = watch.held(3);
  CHECK_FALSE(watch.due.changed.stop_requested());
  const auto sooner = watch.held(4, -1s);
  CHECK(watch.due.changed.stop_requested());
  CHECK(watch.look(0s) == 29s);
}

// It had warned while the ping was under way, and would have slept until the old deadline.
TEST_CASE("a ping that moves a hold on wakes a watch that would look too late", "[pinger][R9]") {
  Watch watch;
  const auto hold = watch.held(1);
  watch.warn(hold);
  REQUIRE(watch.look(30s) == 60s);
  const std::stop_token changed = watch.due.changed;
  watch.holds.extend(Watch::kStart + 25s, Watch::kStart + 31s);
  CHECK(changed.stop_requested());
  CHECK(watch.look(31s) == 55s);
  const std::stop_token unchanged = watch.due.changed;
  watch.holds.extend(Watch::kStart + 35s, Watch::kStart + 36s);
  CHECK_FALSE(unchanged.stop_requested());
}

TEST_CASE("a watch that is woken is woken once", "[pinger][R9]") {
  Watch watch;
  watch.look(0s);
  watch.holds.wake_watch();
  CHECK(watch.due.changed.stop_requested());
  watch.look(0s);
  CHECK_FALSE(watch.due.changed.stop_requested());
}

TEST_CASE("a hold is told once that it is at risk, and anew after a ping that moved it on",
          "[pinger][R9]") {
  Watch watch;
  const auto hold = watch.held(1);
  watch.warn(hold);
  watch.look(30s);
  watch.look(31s);
  CHECK(watch.warned == Times{60s});
  SECTION("by a ping") {
    watch.holds.extend(Watch::kStart, Watch::kStart + 32s);
    CHECK(watch.look(33s) == 60s);
    CHECK(watch.warned == Times{60s});
    watch.holds.extend(Watch::kStart + 10s, Watch::kStart + 34s);
    CHECK(watch.look(39s) == 40s);
    CHECK(watch.warned == Times{60s});
    CHECK(watch.look(40s) == 70s);
    CHECK(watch.warned == Times{60s, 70s});
  }
  SECTION("the next hold is told again") {
    watch.holds.retire(hold, Watch::kStart + 32s);
    watch.holds.delist(hold);
    watch.holds.enlist(hold, Token{{2}});
    watch.begin(hold, 2, 2s);
    CHECK(watch.look(32s) == 62s);
    CHECK(watch.warned == Times{60s, 62s});
  }
}

TEST_CASE("a hold is told of its risk only while it lasts", "[pinger][R9]") {
  Watch watch;
  const auto hold = watch.held(1);
  watch.warn(hold);
  SECTION("not once it was given up") { watch.holds.retire(hold, Watch::kStart + 1s); }
  SECTION("not once it was lost") { watch.holds.lose({hold, Token{{1}}}, LossReason::taken_over); }
  SECTION("not once its callback was taken away") { watch.holds.on_at_risk(*hold, {}); }
  watch.look(30s);
  CHECK(watch.warned.empty());
}

TEST_CASE("a hold that is given up gives its deadline, and one that was lost gives none",
          "[pinger][R9]") {
  Watch watch;
  const auto hold = watch.held(1);
  SECTION("in time") {
    CHECK(watch.holds.retire(hold, Watch::kStart + 60s - 1ns) == Watch::kStart + 60s);
    CHECK_FALSE(watch.holds.lost(*hold));
    CHECK(watch.holds.take_unlogged().empty());
  }
  SECTION("too late") {
    CHECK(watch.holds.retire(hold, Watch::kStart + 60s) == Watch::kStart + 60s);
    CHECK(watch.holds.lost(*hold) == LossReason::deadline_passed);
  }
  SECTION("lost before") {
    watch.holds.lose({hold, Token{{1}}}, LossReason::taken_over);
    CHECK(watch.holds.retire(hold, Watch::kStart) == SteadyTime::min());
    CHECK(watch.holds.lost(*hold) == LossReason::taken_over);
    const auto losses = watch.holds.take_unlogged();
    REQUIRE(losses.size() == 1);
    CHECK(losses.front().lock_name == "lock1");
    CHECK(losses.front().reason == LossReason::taken_over);
  }
  CHECK(watch.holds.active_count() == 0);
  CHECK(watch.holds.active().empty());
  CHECK(hold->validity.over(Watch::kStart));
  CHECK_FALSE(watch.holds.empty());
}

TEST_CASE("a lock object that is delisted leaves nothing behind", "[pinger][R8][R9]") {
  Watch watch;
  const auto hold = watch.held(1);
  hold->claim_validity.begin(Watch::kStart);
  watch.holds.delist(hold);
  CHECK(watch.holds.empty());
  CHECK(hold->validity.over(Watch::kStart));
  CHECK(hold->claim_validity.over(Watch::kStart));
  CHECK(watch.holds.known().empty());
  CHECK(watch.holds.active_count() == 0);
  watch.holds.enlist(hold, Token{{2}});
  CHECK(watch.holds.known() == std::vector<Token>{Token{}, Token{{2}}});
  CHECK(watch.holds.active_count() == 0);
}

TEST_CASE("a claim that is under way is extended by pings, and begins with its deadline",
          "[pinger][R9]") {
  Watch watch;
  const auto hold = watch.enlist(1);
  hold->claim_validity.begin(Watch::kStart);
  watch.holds.extend(Watch::kStart + 5s, Watch::kStart + 6s);
  CHECK(hold->validity.over(Watch::kStart));
  REQUIRE(watch.holds.begin(*hold, Token{{1}}, {}, Watch::kStart + 65s - 1ns));
  CHECK(hold->validity.until() == Watch::kStart + 65s);
  CHECK(hold->claim_validity.over(Watch::kStart));
  CHECK(watch.holds.active_count() == 1);
}

TEST_CASE("a claim whose deadline has passed begins no hold", "[pinger][R8][R9]") {
  Watch watch;
  const auto hold = watch.enlist(1);
  hold->claim_validity.begin(Watch::kStart);
  CHECK_FALSE(watch.holds.begin(*hold, Token{{1}}, {}, Watch::kStart + 60s));
  CHECK(watch.holds.active_count() == 0);
  CHECK(hold->validity.until() == SteadyTime::min());
  CHECK(watch.holds.known() == std::vector<Token>{Token{}, Token{{1}}});
}

TEST_CASE("the tokens that a process knows are listed in order", "[pinger][R8]") {
  Watch watch;
  const auto first = watch.held(9);
  const auto second = watch.held(3);
  watch.holds.enlist(second, Token{{5}});
  const auto known = watch.holds.known();
  CHECK(std::is_sorted(known.begin(), known.end()));
  CHECK(known == std::vector<Token>{Token{{3}}, Token{{5}}, Token{{9}}, Token{{9}}});
  CHECK(watch.holds.active().size() == 2);
}

TEST_CASE("a lock object that is silenced forgets its callbacks", "[pinger][lifetime][R9]") {
  Watch watch;
  const auto hold = watch.held(1);
  const auto captured = std::make_shared<int>();
  watch.holds.on_lost(*hold, [captured](LossReason) {});
  watch.holds.on_at_risk(*hold, [captured](SteadyTime) {});
  CHECK(captured.use_count() == 3);
  watch.holds.silence(*hold);
  CHECK(captured.use_count() == 1);
}

TEST_CASE("losses that are due at one look are told in the order in which their locks came",
          "[pinger][R9]") {
  Watch watch;
  std::vector<int> told;
  std::vector<Watch::Held> all;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    all.push_back(watch.held(i));
    watch.holds.on_lost(*all.back(), [&told, i](LossReason) { told.push_back(i); });
  }
  watch.look(60s);
  CHECK(told == std::vector<int>{1, 2, 3});
}
