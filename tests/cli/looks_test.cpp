#include "cli/looks.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kStart{1h};
constexpr SteadyTime kKillAt = kStart + 60s;

/// After long looking, which kills nothing yet.
Looks long_looks() {
  Looks looks;
  for (int i = 0; i < 20; ++i) looks.take({.at = kStart}, kKillAt);
  return looks;
}

}  // namespace

TEST_CASE("a keeper looks ever more rarely for what is left, until it has to kill",
          "[cli][child][R23]") {
  Looks looks;
  looks.take({.at = kStart}, kKillAt);
  CHECK(looks.next() == kStart + 1ms);
  looks.take({.at = kStart}, kKillAt);
  CHECK(looks.next() == kStart + 2ms);
  looks = long_looks();
  CHECK(looks.next() == kStart + 1s);
}

TEST_CASE("a keeper looks when it has to kill, and no later", "[cli][child][R23][R1]") {
  Looks looks = long_looks();
  looks.take({.at = kKillAt - 1ms}, kKillAt);
  CHECK(looks.next() == kKillAt);
}

TEST_CASE("a keeper that kills looks again soon, and more rarely once that kills nothing",
          "[cli][child][R23][R1]") {
  Looks looks = long_looks();
  looks.take({.at = kKillAt}, kKillAt);
  CHECK(looks.next() == kKillAt + 20ms);
  for (int i = 0; i < 3; ++i) looks.take({.at = kKillAt, .killed = true}, kKillAt);
  CHECK(looks.next() == kKillAt + 20ms);
  looks.take({.at = kKillAt}, kKillAt);
  CHECK(looks.next() == kKillAt + 40ms);
}

TEST_CASE("a keeper has looked enough when two looks in succession found none",
          "[cli][child][R9][R23]") {
  Looks looks;
  looks.take({.at = kStart, .none = true}, kStart);
  CHECK_FALSE(looks.enough());
  CHECK(looks.next() == kStart);
  looks.take({.at = kStart, .killed = true}, kStart);
  looks.take({.at = kStart, .none = true}, kStart);
  CHECK_FALSE(looks.enough());
  looks.take({.at = kStart, .none = true}, kStart);
  CHECK(looks.enough());
}
