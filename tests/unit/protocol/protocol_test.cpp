#include "protocol/protocol.h"

#include <catch2/catch.hpp>
#include <limits>

#include "distlock/error.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::protocol;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST_CASE("a deadline keeps clear of skew on both sides, one call and drift", "[protocol][R9]") {
  LockOptions options;
  CHECK(allowance(options, 10s) == 2 * 30s + 10s + 960ms);
  CHECK(validity(options, 10s) == 16min - 70s - 960ms);
  options.takeover_after = 8s;
  CHECK(validity(options, 1s) == 8s - 2 * 500ms - 1s - 8ms);
}

TEST_CASE("no contender tolerates more skew than a holder allows for", "[protocol][R5][R9]") {
  LockOptions options;
  CHECK(max_clock_skew(16min, options) == 30s);
  CHECK(max_clock_skew(8s, options) == 500ms);
  options.max_clock_skew = 1s;
  CHECK(max_clock_skew(16min, options) == 1s);
  CHECK(max_clock_skew(8s, options) == 500ms);
  CHECK(allowance(options, 10s) == allowance(LockOptions{}, 10s));
  for (const milliseconds longer : {16min, 20min, 60min}) {
    const milliseconds earliest = longer - 2 * max_clock_skew(longer, LockOptions{});
    CHECK(earliest >= 16min - 2 * max_clock_skew(16min, LockOptions{}));
  }
}

TEST_CASE("options that leave a holder no time are refused with the sum", "[protocol][R9]") {
  const LockOptions lock{.takeover_after = 8s};
  const PingerOptions pinger{.ping_every = 1s};
  CHECK_NOTHROW(check_room(lock, pinger, 1748ms));
  CHECK_THROWS_WITH(check_room(lock, pinger, 1749ms),
                    Catch::Contains("8000 ms - allowance 2757 ms = 5243 ms") &&
                        Catch::Contains("but 3 x call_limit 1749 ms = 5247 ms"));
  const PingerOptions seldom{.ping_every = 3s};
  CHECK_NOTHROW(check_room(lock, seldom, 1330ms));
  CHECK_THROWS_WITH(check_room(lock, seldom, 1331ms),
                    Catch::Contains("8000 ms - allowance 2339 ms = 5661 ms") &&
                        Catch::Contains("ping_every 3000 ms + 2 x call_limit 1331 ms = 5662 ms"));
  CHECK(distlock::testing::thrown_by([&] { return check_room(lock, pinger, 0ms); }) ==
        Errc::invalid_argument);
}

TEST_CASE("a hold's fate is told by ts and state alone", "[protocol][R9][R14]") {
  const Token ours{{1}};
  const auto fate_of = [&](const std::optional<Carried>& carried) {
    return fate("balancer", ours, carried);
  };
  const Token theirs{{2}};
  CHECK_FALSE(fate_of(Carried{ours, LockState::taken}));
  CHECK_FALSE(fate_of(Carried{ours, LockState::taken_by_mongodb}));
  CHECK(fate_of(std::nullopt) == LossReason::document_gone);
  CHECK(fate_of(Carried{ours, LockState::free}) == LossReason::freed);
  CHECK(fate_of(Carried{theirs, LockState::taken}) == LossReason::taken_over);
  CHECK(fate_of(Carried{theirs, LockState::taken_by_mongodb}) == LossReason::taken_over);
  CHECK(fate_of(Carried{theirs, LockState::free}) == LossReason::replaced);
  CHECK(fate_of(Carried{theirs, std::nullopt}) == LossReason::replaced);
  CHECK(fate_of(Carried{std::nullopt, LockState::taken}) == LossReason::replaced);
  CHECK(fate_of(Carried{}) == LossReason::replaced);
  CHECK_THROWS_WITH(fate_of(Carried{ours, std::nullopt}),
                    Catch::Contains("\"balancer\"") && Catch::Contains("\"state\""));
}

TEST_CASE("a claim needs a ping that leaves it time to live", "[protocol][R7][R9]") {
  const PingerOptions pinger;
  CHECK(must_ping_before_claim(std::nullopt, SteadyTime{1h}, 10min, pinger));
  CHECK_FALSE(must_ping_before_claim(SteadyTime{1h}, SteadyTime{1h + 60s}, 10min, pinger));
  CHECK(must_ping_before_claim(SteadyTime{1h}, SteadyTime{1h + 60s + 1ns}, 10min, pinger));
  CHECK(must_ping_before_claim(SteadyTime{1h}, SteadyTime{1h + 35s}, 69s, pinger));
}

TEST_CASE("a claim needs a ping that no process may have removed", "[protocol][R7][R13]") {
  const PingerOptions pinger{.ping_every = 48h};
  CHECK_NOTHROW(check_options(pinger));
  CHECK_FALSE(must_ping_before_claim(SteadyTime{1h}, SteadyTime{49h}, 10000h, pinger));
  CHECK(must_ping_before_claim(SteadyTime{1h}, SteadyTime{49h + 1ns}, 10000h, pinger));
}

TEST_CASE("unlock pauses are the original's", "[protocol][R11]") {
  CHECK(kUnlockAttemptsMax == 3);
  CHECK(unlock_pause(1) == 2s);
  CHECK(unlock_pause(2) == 4s);
}

TEST_CASE("pauses between looks double, jitter and stay bounded", "[protocol][R15]") {
  const LockOptions options;
  for (const std::uint64_t random : {0ULL, 1ULL, ~0ULL, 0x9e3779b97f4a7c15ULL}) {
    for (int round = 0; round < 100; ++round) {
      const auto most = std::min<milliseconds>(20ms * (1LL << std::min(round, 20)), 1000ms);
      const auto pause = poll_pause(round, random, 0ms, options);
      CHECK(pause <= most);
      CHECK(pause >= most / 2);
    }
  }
  CHECK(poll_pause(9, 0, 0ms, options) != poll_pause(9, 12345678, 0ms, options));
}

TEST_CASE("a wait ends soon after a takeover that can be foretold", "[protocol][R15]") {
  const LockOptions options;
  CHECK(poll_pause(9, 0, 100ms, options) >= 100ms);
  CHECK(poll_pause(9, ~0ULL, 100ms, options) <= 120ms);
  CHECK(poll_pause(0, 0, 15min, options) == 20ms);
}

TEST_CASE("no stored takeover_after makes a waiter spin", "[protocol][R15]") {
  const LockOptions options;
  for (const std::int64_t stored : {std::numeric_limits<std::int64_t>::max(),
                                    std::int64_t{9223372036855}, std::int64_t{9223372036854 * 3}}) {
    const auto pause = poll_pause(9, 12345, milliseconds{stored}, options);
    CHECK(pause >= options.poll_max / 2);
    CHECK(pause <= options.poll_max);
  }
}

TEST_CASE("a pinger is late after more than ten intervals", "[protocol][R12]") {
  const PingerOptions options;
  CHECK_FALSE(ping_is_late(SteadyTime{1h}, SteadyTime{1h + 300s}, options));
  CHECK(ping_is_late(SteadyTime{1h}, SteadyTime{1h + 300s + 1ns}, options));
  CHECK(ping_retry_pause(options) == 7500ms);
}

TEST_CASE("bad names are refused and say why", "[protocol][input]") {
  const auto refused = [](const std::string& name, const std::string& part) {
    CHECK_THROWS_WITH(check_name(name), Catch::Contains(part));
  };
  refused("", "empty");
  refused(std::string(1001, 'x'), "1001 bytes");
  refused(std::string("a\0b", 3), "NUL");
  refused("\xff\xfe", "not UTF-8");
  CHECK_NOTHROW(check_name(std::string(1000, 'x')));
  CHECK_NOTHROW(check_name("b\xc3\xa4lance $where . \"x\""));
}

TEST_CASE("a bad reason is refused and says why", "[protocol][input]") {
  const auto refused = [](const std::string& why, const std::string& part) {
    CHECK_THROWS_WITH(check_why(why), Catch::Contains(part));
  };
  refused(std::string(10'001, 'x'), "10000 bytes");
  refused(std::string("a\0b", 3), "NUL");
  refused("\xff\xfe", "not UTF-8");
  CHECK_NOTHROW(check_why(std::string(10'000, 'x')));
  CHECK_NOTHROW(check_why(""));
}

TEST_CASE("bad options are refused", "[protocol][input]") {
  const auto refused = [](const LockOptions& options) {
    CHECK(distlock::testing::thrown_by([&] { return check_options(options); }) ==
          Errc::invalid_argument);
  };
  refused({.takeover_after = 0ms});
  refused({.takeover_after = -1ms});
  refused({.takeover_after = std::chrono::minutes{1'000'000'000}});
  refused({.takeover_after = milliseconds::max()});
  refused({.max_clock_skew = -1ms});
  refused({.max_clock_skew = 30001ms});
  refused({.max_clock_skew = milliseconds::max()});
  refused({.takeover_after = 16s, .max_clock_skew = 1001ms});
  refused({.poll_min = 0ms});
  refused({.poll_min = 2s, .poll_max = 1s});
  refused({.poll_max = milliseconds::max()});
  refused({.store_patience = -1ms});
  CHECK_NOTHROW(check_options(LockOptions{}));
  const auto pinger_refused = [](const PingerOptions& options) {
    CHECK(distlock::testing::thrown_by([&] { return check_options(options); }) ==
          Errc::invalid_argument);
  };
  pinger_refused({.ping_every = 0ms});
  pinger_refused({.ping_every = milliseconds::max()});
  pinger_refused({.ping_every = 48h + 1ms});
  pinger_refused({.ping_every = 24h * 365 * 30, .forget_after = 24h * 365 * 90});
  CHECK_THROWS_WITH(check_options(PingerOptions{.ping_every = 72h}),
                    Catch::Contains("259200000 ms") && Catch::Contains("172800000 ms"));
  pinger_refused({.forget_after = 95h});
  pinger_refused({.forget_after = milliseconds::max()});
  pinger_refused({.forget_every = 0ms});
  pinger_refused({.forget_every = milliseconds::max()});
  CHECK(distlock::testing::thrown_by([&] {
          return check_room(LockOptions{}, PingerOptions{}, 0ms);
        }) == Errc::invalid_argument);
  CHECK(distlock::testing::thrown_by([&] {
          return check_room(LockOptions{}, PingerOptions{}, milliseconds::max());
        }) == Errc::invalid_argument);
  const LockOptions patient{.takeover_after = 24h * 365};
  CHECK_NOTHROW(check_room(patient, PingerOptions{}, 24h));
  CHECK_THROWS_WITH(check_room(patient, PingerOptions{}, 24h * 30),
                    Catch::Contains("2592000000 ms") && Catch::Contains("86400000 ms"));
  CHECK_NOTHROW(check_options(PingerOptions{}));
  CHECK(distlock::testing::thrown_by([&] { return LockOptions::taking_over_after_minutes(0); }) ==
        Errc::invalid_argument);
  CHECK(distlock::testing::thrown_by([&] { return LockOptions::taking_over_after_minutes(-15); }) ==
        Errc::invalid_argument);
  CHECK(distlock::testing::thrown_by([&] {
          return check_options(LockOptions::taking_over_after_minutes(1'000'000'000));
        }) == Errc::invalid_argument);
}
