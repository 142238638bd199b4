#include <catch2/catch.hpp>
#include <string>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/pinger.h"
#include "distlock/stores.h"
#include "protocol/protocol.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::protocol;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds kHundredYears = 24h * 36525;

template <class Options>
void last_allowed(const Options& options) {
  CHECK_NOTHROW(check_options(options));
}

template <class Options>
void first_refused(const Options& options) {
  CHECK(distlock::testing::thrown_by([&] { return check_options(options); }) ==
        Errc::invalid_argument);
}

}  // namespace

TEST_CASE("a lock's options are allowed up to their limits, to the millisecond",
          "[protocol][input]") {
  last_allowed(LockOptions{.takeover_after = 1ms});
  first_refused(LockOptions{.takeover_after = 0ms});
  last_allowed(LockOptions{.takeover_after = kHundredYears});
  first_refused(LockOptions{.takeover_after = kHundredYears + 1ms});
  last_allowed(LockOptions{.max_clock_skew = 30s});
  first_refused(LockOptions{.max_clock_skew = 30s + 1ms});
  last_allowed(LockOptions{.takeover_after = 16s, .max_clock_skew = 1s});
  first_refused(LockOptions{.takeover_after = 16s, .max_clock_skew = 1s + 1ms});
  last_allowed(LockOptions{.poll_min = 1ms, .poll_max = 1ms});
  first_refused(LockOptions{.poll_min = 2ms, .poll_max = 1ms});
  last_allowed(LockOptions{.poll_max = kHundredYears});
  first_refused(LockOptions{.poll_max = kHundredYears + 1ms});
  last_allowed(LockOptions{.store_patience = 0ms});
  first_refused(LockOptions{.store_patience = -1ms});
  last_allowed(LockOptions{.max_clock_skew = 0ms});
  first_refused(LockOptions{.max_clock_skew = -1ms});
  first_refused(LockOptions{.poll_min = 0ms});
  last_allowed(LockOptions{.recheck = 1ms});
  first_refused(LockOptions{.recheck = 0ms});
  first_refused(LockOptions{.recheck = -1ms});
  last_allowed(LockOptions{.recheck = 1h});
  first_refused(LockOptions{.recheck = 1h + 1ms});
  last_allowed(LockOptions{.deadlock_after = 0ms});
  first_refused(LockOptions{.deadlock_after = -1ms});
  last_allowed(LockOptions{.deadlock_after = 1h});
  first_refused(LockOptions{.deadlock_after = 1h + 1ms});
  last_allowed(LockOptions{.unstated_window = 0ms});
  first_refused(LockOptions{.unstated_window = -1ms});
  last_allowed(LockOptions{.unstated_window = kHundredYears});
  first_refused(LockOptions{.unstated_window = kHundredYears + 1ms});
}

TEST_CASE("an option that is no enumerator of its type is refused by its name",
          "[protocol][input]") {
  const auto number = GENERATE(-1, 2, 100);
  const auto refused_as = [](const LockOptions& options) {
    try {
      check_options(options);
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::invalid_argument);
      const std::string what = error.what();
      return what.substr(0, what.find(' '));
    }
    return std::string("accepted");
  };
  CHECK(refused_as({.takeover_rule = static_cast<TakeoverRule>(number)}) == "takeover_rule");
  CHECK(refused_as({.missing_ping = static_cast<MissingPing>(number)}) == "missing_ping");
  CHECK(refused_as({.wait_rule = static_cast<WaitRule>(number)}) == "wait_rule");
  CHECK(refused_as({.release_rule = static_cast<ReleaseRule>(number)}) == "release_rule");
  CHECK(refused_as({.pass_rule = static_cast<PassRule>(number)}) == "pass_rule");
  last_allowed(LockOptions{.takeover_rule = TakeoverRule::watched,
                           .missing_ping = MissingPing::expire_from_when,
                           .wait_rule = WaitRule::polling,
                           .release_rule = ReleaseRule::durable,
                           .pass_rule = PassRule::never});
}

TEST_CASE("an option of a store or a pinger that is no enumerator is refused by its name",
          "[protocol][input]") {
  const auto number = GENERATE(-1, 4, 100);
  const auto refused_as = [](const auto& make) {
    try {
      make();
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::invalid_argument);
      const std::string what = error.what();
      return what.substr(0, what.find(' '));
    }
    return std::string("accepted");
  };
  CHECK(refused_as([&] {
          const StoreOptions options{.witness = static_cast<WitnessRule>(number)};
          return open_store(ConnectionString("memory:"), options);
        }) == "witness");
  CHECK(refused_as([&] {
          const Environment environment{.store = make_memory_store()};
          DistributedLockPinger(environment, {}, static_cast<PingerDrive>(number));
        }) == "drive");
  CHECK(refused_as([&] {
          const MirrorOptions options{.drive = static_cast<MirrorDrive>(number)};
          return make_mirrored_store({make_memory_store()}, host_clock(), options);
        }) == "MirrorOptions::drive");
  CHECK(refused_as([&] {
          const StoreOptions options{.opening = static_cast<OpeningRule>(number)};
          return open_store(ConnectionString("memory:"), options);
        }) == "opening");
  CHECK(refused_as([&] {
          const MirrorOptions options{.opening = static_cast<OpeningRule>(number)};
          return make_mirrored_store({make_memory_store()}, host_clock(), options);
        }) == "MirrorOptions::opening");
}

TEST_CASE("a pinger's options are allowed up to their limits, to the millisecond",
          "[protocol][input]") {
  last_allowed(PingerOptions{.ping_every = 1ms});
  first_refused(PingerOptions{.ping_every = 0ms});
  last_allowed(PingerOptions{.forget_after = 24h * 4});
  first_refused(PingerOptions{.forget_after = 24h * 4 - 1ms});
  last_allowed(PingerOptions{.forget_after = kHundredYears});
  first_refused(PingerOptions{.forget_after = kHundredYears + 1ms});
  last_allowed(PingerOptions{.forget_every = 1ms});
  first_refused(PingerOptions{.forget_every = 0ms});
  last_allowed(PingerOptions{.forget_every = kHundredYears});
  first_refused(PingerOptions{.forget_every = kHundredYears + 1ms});
}

TEST_CASE("a value that an option refuses is an invalid argument", "[protocol][input]") {
  const auto code_of = [](const auto& refused) {
    try {
      refused();
    } catch (const Error& error) {
      return error.errc();
    }
    return Errc::not_applied;
  };
  CHECK(code_of([] { check_name(""); }) == Errc::invalid_argument);
  CHECK(code_of([] { check_why(std::string(10'001, 'x')); }) == Errc::invalid_argument);
  CHECK(code_of([] { check_options(PingerOptions{.ping_every = 0ms}); }) == Errc::invalid_argument);
}

TEST_CASE("a contender tolerates the skew that its options ask for", "[protocol][R5]") {
  CHECK(max_clock_skew(16min, {.max_clock_skew = 1ms}) == 1ms);
  CHECK(max_clock_skew(16min, {.max_clock_skew = 0ms}) == 0ms);
  CHECK(max_clock_skew(16min, {}) == 30s);
}

TEST_CASE("a ping is renewed before a claim once half of a hold's time is gone", "[protocol][R7]") {
  const PingerOptions pinger;
  CHECK_FALSE(must_ping_before_claim(SteadyTime{1h}, SteadyTime{1h + 35s}, 70s, pinger));
  CHECK(must_ping_before_claim(SteadyTime{1h}, SteadyTime{1h + 35s + 1ns}, 70s, pinger));
}

TEST_CASE("a random number spreads a pause over the half of it", "[protocol][R15]") {
  const LockOptions options;
  for (int round = 0; round < 10; ++round) {
    const std::chrono::milliseconds most =
        std::min<std::chrono::milliseconds>(20ms * (1 << round), 1000ms);
    CHECK(poll_pause(round, 0, 0ms, options) == most);
    const auto half = static_cast<std::uint64_t>(std::chrono::nanoseconds{most}.count() / 2);
    CHECK(poll_pause(round, half, 0ms, options) == most / 2);
    CHECK(poll_pause(round, half + 1, 0ms, options) == most);
  }
}

TEST_CASE("a pause beyond a takeover ends within poll_min after it", "[protocol][R15]") {
  const LockOptions options;
  CHECK(poll_pause(9, 0, 100ms, options) == 100ms);
  CHECK(poll_pause(9, 20'000'000, 100ms, options) == 120ms);
  CHECK(poll_pause(9, 20'000'001, 100ms, options) == 100ms);
  CHECK(poll_pause(9, 0, 1ms, options) == 1ms);
}

TEST_CASE("a pause that ends before a takeover, or with it, stays as it is", "[protocol][R15]") {
  const LockOptions options;
  CHECK(poll_pause(0, 0, 100ms, options) == 20ms);
  CHECK(poll_pause(0, 1'000'000, 19ms, options) == 19ms);
}

TEST_CASE("old pings are looked for after half to one and a half of forget_every",
          "[protocol][R13]") {
  const PingerOptions options{.forget_every = 10s};
  CHECK(forget_pause(0, options) == 5s);
  CHECK(forget_pause(9'999'999'999, options) == 15s - 1ns);
  CHECK(forget_pause(10'000'000'000, options) == 5s);
}

TEST_CASE("a pinger without a ping, or with a ping in time, is not late", "[protocol][R12]") {
  const PingerOptions options;
  CHECK(late_by(std::nullopt, SteadyTime{1h}, options) == 0ms);
  CHECK(late_by(SteadyTime{1h}, SteadyTime{1h + 10s}, options) == 0ms);
  CHECK(late_by(SteadyTime{1h}, SteadyTime{1h + 31s}, options) == 1s);
}

TEST_CASE("a time that is refused is shown", "[protocol][input]") {
  CHECK_THROWS_WITH(check_options(LockOptions{.recheck = 2h}),
                    Catch::StartsWith("recheck is 7200000 ms: "));
  CHECK_THROWS_WITH(check_options(LockOptions{.deadlock_after = 3h}),
                    Catch::StartsWith("deadlock_after is 10800000 ms: "));
  CHECK_THROWS_WITH(check_options(LockOptions{.takeover_after = -5ms}),
                    Catch::StartsWith("takeover_after is -5 ms: "));
}

TEST_CASE("a skew that is refused is shown with the most that its window allows",
          "[protocol][input][R5]") {
  CHECK_THROWS_WITH(check_options(LockOptions{.takeover_after = 16s, .max_clock_skew = 2s}),
                    Catch::StartsWith("max_clock_skew is 2000 ms: it must be from 0 to 1000 ms,"));
}
