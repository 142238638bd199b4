#include "stores/mirrored/returns.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace distlock;
using namespace distlock::mirrored;

TEST_CASE("a text tells how often each member has come back", "[mirrored][M6]") {
  const Returns returns =
      GENERATE(Returns{}, Returns{0, 2, 0}, Returns{1}, Returns{4'294'967'295, 1});
  CHECK(returns_in(with_returns("leave it", returns)) == returns);
  CHECK(with_returns("leave it", {0, 0}) == "leave it");
  CHECK(with_returns("leave it", {0, 2}) == "leave it; came back: 0 2");
}

TEST_CASE("a text that somebody has changed tells of no returns", "[mirrored][M6][R14]") {
  const char* const text =
      GENERATE("", "came back: 1", "; came back: ", "; came back: 1,2", "; came back: -1",
               "; came back: 4294967296", "; came back: 1 ", "; came back: 1  2", "; came back: a");
  CAPTURE(text);
  CHECK(returns_in(text).empty());
}

TEST_CASE("of two who know of returns the greater number counts", "[mirrored][M6]") {
  CHECK(merged({0, 2}, {1, 1, 3}) == Returns{1, 2, 3});
  CHECK(merged({0, 2, 3}, {}) == Returns{0, 2, 3});
  CHECK(with_one_more({0, 2}, 1) == Returns{0, 3});
  CHECK(with_one_more({}, 1) == Returns{0, 1});
  CHECK_FALSE(with_one_more({std::numeric_limits<std::uint32_t>::max()}, 0));
  KnownReturns known;
  const Token set{{1}};
  known.note(set, {0, 2});
  known.note(set, {1, 1});
  CHECK(known.at(set, 0) == 1);
  CHECK(known.at(set, 1) == 2);
  CHECK(known.at(set, 2) == 0);
  CHECK(known.at(Token{{2}}, 1) == 0);
}
