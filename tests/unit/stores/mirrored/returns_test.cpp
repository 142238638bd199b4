#include "stores/mirrored/returns.h"

#include <catch2/catch.hpp>
#include <limits>
#include <thread>

using namespace distlock;
using namespace distlock::mirrored;

TEST_CASE("a text tells how often each member has come back", "[mirrored][M6]") {
  const Returns returns = GENERATE(Returns{}, Returns{0, 2, 0}, Returns{1},
                                   Returns{std::numeric_limits<std::uint64_t>::max(), 1});
  CHECK(returns_in(with_returns("leave it", returns)) == returns);
  CHECK(with_returns("leave it", {0, 0}) == "leave it");
  CHECK(with_returns("leave it", {0, 2}) == "leave it; came back: 0 2");
}

TEST_CASE("a text that somebody has changed tells of no returns", "[mirrored][M6][R14]") {
  const char* const text = GENERATE("", "came back: 1", "; came back: ", "; came back: 1,2",
                                    "; came back: -1", "; came back: 18446744073709551616",
                                    "; came back: 1 ", "; came back: 1  2", "; came back: a");
  CAPTURE(text);
  CHECK(returns_in(text).empty());
}

TEST_CASE("a place that is given anew gets a greater number, by a random step", "[mirrored][M6]") {
  CHECK(with_greater({0, 2}, 1, 0) == Returns{0, 3});
  CHECK(with_greater({0, 2}, 1, 7) == Returns{0, 10});
  CHECK(with_greater({1, 2, 3}, 0, 0) == Returns{2, 2, 3});
  CHECK(with_greater({}, 1, std::uint64_t{1} << 32U) == Returns{0, 1});
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  CHECK(with_greater({kMost - 8}, 0, 7) == Returns{kMost});
  CHECK_FALSE(with_greater({kMost - 7}, 0, 7));
}

TEST_CASE("of two who know of returns the greater number counts", "[mirrored][M6]") {
  CHECK(merged({0, 2}, {1, 1, 3}) == Returns{1, 2, 3});
  CHECK(merged({0, 2, 3}, {}) == Returns{0, 2, 3});
  KnownReturns known;
  const Token set{{1}};
  known.note(set, {0, 2});
  known.note(set, {1, 1});
  CHECK(known.at(set, 0) == 1);
  CHECK(known.at(set, 1) == 2);
  CHECK(known.at(set, 2) == 0);
  CHECK(known.at(Token{{2}}, 1) == 0);
}

TEST_CASE("news of a known set count, however many other sets a process has heard of",
          "[mirrored][M6]") {
  KnownReturns known;
  const Token own{{1}};
  known.note(own, {1});
  for (std::uint8_t i = 2; i < 200; ++i) known.note(Token{{i}}, {1});
  known.note(own, {2});
  CHECK(known.at(own, 0) == 2);
}

TEST_CASE("a process remembers the returns of a hundred sets", "[mirrored][M6]") {
  KnownReturns known;
  const Token without{{255}};
  known.note(without, {});
  for (std::uint8_t i = 0; i < 100; ++i) known.note(Token{{i}}, {1});
  known.note(Token{{100}}, {1});
  CHECK(known.at(Token{{99}}, 0) == 1);
  CHECK(known.at(Token{{100}}, 0) == 0);
}

TEST_CASE("returns are noted by one thread while another one reads them",
          "[mirrored][M6][threads]") {
  KnownReturns known;
  const Token set{{1}};
  std::thread noting([&] {
    for (std::uint64_t i = 1; i <= 1000; ++i) known.note(set, Returns(i % 8 + 1, i));
  });
  std::uint64_t last = 0;
  bool rising = true;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = known.at(set, 0);
    rising = rising && now >= last;
    last = now;
  }
  noting.join();
  CHECK(rising);
  CHECK(known.at(set, 0) == 1000);
  CHECK(known.at(set, 7) == 999);
}
