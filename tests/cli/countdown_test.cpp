#include "cli/countdown.h"

#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;
using Step = Countdown::Step;

namespace {

constexpr SteadyTime kStart{1h};
constexpr SteadyTime kUntil = kStart + 60s;
constexpr EndingPlan kUsualPlan{
    .on_loss = OnLoss::terminate, .grace = 5s, .margin = 1s, .look_every = 1min};

LeaseTimes times(std::chrono::milliseconds takeover_after) {
  return {.lock = {.takeover_after = takeover_after},
          .ping_every = takeover_after / 8,
          .call_limit = takeover_after / 8};
}

}  // namespace

TEST_CASE("a command is told to end so that grace and margin fit before the deadline",
          "[cli][countdown][R9]") {
  Countdown countdown(kUsualPlan, kUntil);
  const auto early = countdown.look(kStart, kUntil);
  CHECK(early.step == Step::wait);
  CHECK(early.next == kUntil - 6s);
  CHECK_FALSE(countdown.begun());

  const auto told = countdown.look(kUntil - 6s, kUntil);
  CHECK(told.step == Step::terminate);
  CHECK(told.next == kUntil - 1s);
  CHECK(countdown.begun());
  CHECK(countdown.look(kUntil - 2s, kUntil).step == Step::wait);
  CHECK(countdown.look(kUntil - 1s, kUntil).step == Step::kill);
  CHECK(countdown.look(kUntil, kUntil).step == Step::kill);
}

TEST_CASE("pings move the end on, until it has begun", "[cli][countdown][R9]") {
  Countdown countdown(kUsualPlan, kUntil);
  CHECK(countdown.look(kUntil - 6s, kUntil + 30s).next == kUntil + 24s);
  CHECK(countdown.look(kUntil + 24s, kUntil + 30s).step == Step::terminate);
  const auto after = countdown.look(kUntil + 25s, kUntil + 60s);
  CHECK(after.step == Step::wait);
  CHECK(after.next == kUntil + 29s);
}

TEST_CASE("a deadline that comes nearer brings the end nearer", "[cli][countdown][R9][M5]") {
  Countdown countdown(kUsualPlan, kUntil);
  REQUIRE(countdown.look(kStart, kUntil).step == Step::wait);
  const SteadyTime nearer = kUntil - 20s;
  CHECK(countdown.look(kStart + 1s, nearer).next == nearer - 6s);
  CHECK(countdown.kill_at() == nearer - 875ms);
  CHECK(countdown.look(nearer - 6s, nearer).step == Step::terminate);
}

TEST_CASE("a deadline that comes nearer during the grace cuts it short",
          "[cli][countdown][R9][M5]") {
  Countdown countdown(kUsualPlan, kUntil);
  REQUIRE(countdown.look(kUntil - 6s, kUntil).step == Step::terminate);
  CHECK(countdown.look(kUntil - 5s, kUntil - 2s).next == kUntil - 3s);
  CHECK(countdown.kill_at() == kUntil - 3s);
  CHECK(countdown.look(kUntil - 4s, kUntil).next == kUntil - 3s);
  CHECK(countdown.look(kUntil - 3s, kUntil).step == Step::kill);
}

TEST_CASE("a deadline may come nearer at every look of the grace", "[cli][countdown][R9][M5]") {
  EndingPlan plan = kUsualPlan;
  plan.look_every = 2s;
  Countdown countdown(plan, kUntil);
  CHECK(countdown.look(kUntil - 6s, kUntil).next == kUntil - 4s);
  CHECK(countdown.look(kUntil - 4s, kUntil).next == kUntil - 2s);
  CHECK(countdown.look(kUntil - 2s, kUntil).next == kUntil - 1s);
}

TEST_CASE("where a deadline may come nearer, looks are closer together than the margin",
          "[cli][countdown][R9][M5]") {
  CHECK(for_nearer_deadlines(kUsualPlan).look_every == 500ms);
  EndingPlan quick = kUsualPlan;
  quick.look_every = 20ms;
  CHECK(for_nearer_deadlines(quick).look_every == 20ms);
  quick.margin = 0ms;
  CHECK(for_nearer_deadlines(quick).look_every == 1ms);
}

TEST_CASE("a keeper without news kills in time, but later than its parent would",
          "[cli][countdown][R9]") {
  Countdown countdown(kUsualPlan, kUntil);
  CHECK(countdown.look(kStart, kUntil).step == Step::wait);
  CHECK(countdown.kill_at() == kUntil - 875ms);
  CHECK(countdown.look(kUntil - 6s, kUntil + 30s).step == Step::wait);
  CHECK(countdown.kill_at() == kUntil + 30s - 875ms);
  CHECK(countdown.look(kUntil + 20s, std::nullopt).step == Step::terminate);
  CHECK(countdown.kill_at() == kUntil + 25s);
}

TEST_CASE("an end that the keeper has begun is the countdown's, whatever a ping moved since",
          "[cli][countdown][R9]") {
  Countdown countdown(kUsualPlan, kUntil);
  REQUIRE(countdown.look(kStart, kUntil).step == Step::wait);
  CHECK(countdown.look(countdown.kill_at(), kUntil + 30s).step == Step::kill);
  CHECK(countdown.begun());
}

TEST_CASE("a countdown asks long before the end whether pings have moved it",
          "[cli][countdown][R9]") {
  EndingPlan plan = kUsualPlan;
  plan.look_every = 7s;
  Countdown countdown(plan, kUntil);
  CHECK(countdown.look(kStart, kUntil).next == kStart + 7s);
  CHECK(countdown.look(kUntil - 10s, kUntil).next == kUntil - 6s);
  CHECK(fitting_plan(times(16min), {}, OnLoss::kill).look_every == 30s);
}

TEST_CASE("a countdown pauses between two looks, however often there are pings",
          "[cli][countdown]") {
  LeaseTimes busy = times(16min);
  busy.ping_every = GENERATE(1ms, 3ms, 7ms);
  CHECK(fitting_plan(busy, {}, OnLoss::kill).look_every == 1ms);
}

TEST_CASE("a loss ends the command at once, with its grace", "[cli][countdown][R9]") {
  Countdown countdown(kUsualPlan, kUntil);
  const auto told = countdown.look(kStart + 1s, std::nullopt);
  CHECK(told.step == Step::terminate);
  CHECK(told.next == kStart + 6s);
  CHECK(countdown.look(kStart + 2s, std::nullopt).step == Step::wait);
  CHECK(countdown.look(kStart + 6s, std::nullopt).step == Step::kill);
}

TEST_CASE("the deadline cuts the grace short", "[cli][countdown][R9]") {
  Countdown countdown(kUsualPlan, kUntil);
  SECTION("of a command whose lock was lost shortly before") {
    CHECK(countdown.look(kUntil - 4s, std::nullopt).next == kUntil - 1s);
  }
  SECTION("of one that is told late") {
    const auto told = countdown.look(kUntil - 2s, kUntil);
    CHECK(told.step == Step::terminate);
    CHECK(told.next == kUntil - 1s);
  }
}

TEST_CASE("a countdown that wakes up behind the deadline kills at once", "[cli][countdown][R9]") {
  for (const auto valid_until : {std::optional(kUntil), std::optional<SteadyTime>()}) {
    Countdown countdown(kUsualPlan, kUntil);
    CHECK(countdown.look(kUntil + 10min, valid_until).step == Step::kill);
  }
}

TEST_CASE("with --on-loss kill there is no grace, and ignore ends nothing",
          "[cli][countdown][R9]") {
  Countdown kills({.on_loss = OnLoss::kill, .grace = 5s, .margin = 1s, .look_every = 1min}, kUntil);
  CHECK(kills.look(kUntil - 2s, kUntil).next == kUntil - 1s);
  CHECK(kills.look(kUntil - 2s, std::nullopt).step == Step::kill);

  Countdown ignores({.on_loss = OnLoss::ignore, .grace = 5s, .margin = 1s, .look_every = 1min},
                    kUntil);
  CHECK(ignores.look(kUntil + 1h, std::nullopt).step == Step::wait);
  CHECK(ignores.kill_at() == SteadyTime::max());
  CHECK_FALSE(ignores.begun());
}

TEST_CASE("by default the grace is 5 s, an eighth, or the time that there is", "[cli][countdown]") {
  CHECK(fitting_plan(times(16min), {}, OnLoss::terminate).grace == 5s);
  CHECK(fitting_plan(times(16min), {}, OnLoss::terminate).margin == 1s);
  CHECK(fitting_plan(times(2s), {}, OnLoss::terminate).grace == 250ms);
  CHECK(fitting_plan(times(2s), {}, OnLoss::terminate).margin == 125ms);

  // 2000 - 502 - 850 - 2 x 250 - 125
  LeaseTimes tight = times(2s);
  tight.ping_every = 850ms;
  CHECK(fitting_plan(tight, {}, OnLoss::terminate).grace == 23ms);
  tight.ping_every = 900ms;
  CHECK(fitting_plan(tight, {}, OnLoss::terminate).grace == 0ms);
}

TEST_CASE("a grace that leaves the pings no room is refused with the sum", "[cli][countdown]") {
  CHECK(fitting_plan(times(2s), 623ms, OnLoss::terminate).grace == 623ms);
  CHECK_THROWS_WITH(fitting_plan(times(2s), 624ms, OnLoss::terminate),
                    Catch::Contains("2s - allowance 502ms = 1.498s") &&
                        Catch::Contains("250ms + 2 x call limit 250ms + --grace 624ms + margin "
                                        "125ms = 1.499s"));
  CHECK_NOTHROW(fitting_plan(times(2s), 1h, OnLoss::kill));
  CHECK(distlock::testing::thrown_by([&] {
          return fitting_plan(times(24h * 365 * 5000), {}, OnLoss::terminate);
        }) == Errc::invalid_argument);
}

TEST_CASE("times that do not fit are refused in the names of the command's options",
          "[cli][countdown]") {
  LeaseTimes slow = times(2s);
  slow.ping_every = 1s;
  CHECK_THROWS_WITH(fitting_plan(slow, {}, OnLoss::terminate),
                    Catch::StartsWith("--takeover-after leaves the pings too little time: "
                                      "--takeover-after 2s - allowance 502ms = 1.498s, but "
                                      "--ping-every 1s + 2 x call limit 250ms = 1.5s; "));
  slow.ping_every = 72h;
  CHECK_THROWS_WITH(fitting_plan(slow, {}, OnLoss::terminate),
                    Catch::StartsWith("--ping-every is"));
  CHECK_THROWS_WITH(fitting_plan(times(24h * 365 * 200), {}, OnLoss::terminate),
                    Catch::StartsWith("--takeover-after is more than"));
}

TEST_CASE("a command that goes on after a loss may have any grace, which it never uses",
          "[cli][countdown]") {
  CHECK_NOTHROW(fitting_plan(times(2s), 1h, OnLoss::ignore));
}
