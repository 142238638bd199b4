// Cycles of waits through commands of `distlock run`, which may wait for them (R22).
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "protocol/deadlock.h"

using namespace distlock;
using namespace std::chrono_literals;

namespace {

const StoreTime kBegun{1'700'000'000'000ms};

LockRecord held_by(const std::string& thread, const std::string& name) {
  static std::uint8_t number = 0;
  LockRecord lock{.name = name, .state = LockState::taken, .process = thread, .who = thread + ":1"};
  lock.when = kBegun;
  lock.ts = Token{{2, ++number}};
  return lock;
}

/// A place in that line, of a thread that runs in the commands of these holds.
void stand(LockRecord& lock, const std::string& thread, const std::vector<Token>& holds) {
  static std::uint8_t number = 0;
  const Token ticket{{3, ++number}};
  const std::string who = thread + ":2" + deadlock::inside(holds);
  lock.line.push_back({ticket, thread, who, kBegun + number * 1s, {}});
}

/// Two runs, each with a run in its command that waits for the other's lock. The second came last.
struct Crossed {
  Crossed() {
    stand(y, "p:in_x", {*x.ts});
    stand(x, "p:in_y", {*y.ts});
  }
  std::vector<deadlock::Cycle> possible() const { return deadlock::possible_cycles({x, y}); }

  LockRecord x = held_by("p:x", "x");
  LockRecord y = held_by("p:y", "y");
};

}  // namespace

TEST_CASE("runs in the commands of two that wait for each other's lock are a possible cycle",
          "[deadlock][R22]") {
  const Crossed runs;
  CHECK(deadlock::cycles({runs.x, runs.y}).empty());
  const auto found = runs.possible();
  REQUIRE(found.size() == 1);
  CHECK_FALSE(deadlock::is_certain(found.front()));
  const std::string end =
      " waits for \"x\", held by p:x, whose command contains p:in_x, which waits for \"y\", held "
      "by p:y, whose command contains ";
  CHECK(deadlock::in_words(found.front()) == "p:in_y" + end + "p:in_y");
  CHECK(deadlock::in_words(found.front(), "this process") == "this process" + end + "this process");
}

TEST_CASE("a run in the command of a run that holds its lock is a possible cycle",
          "[deadlock][R22]") {
  LockRecord x = held_by("p:x", "x");
  stand(x, "p:in_x", {Token{{9}}, *x.ts});
  const auto found = deadlock::possible_cycles({x});
  REQUIRE(found.size() == 1);
  CHECK(deadlock::in_words(found.front()) ==
        "p:in_x waits for \"x\", held by p:x, whose command contains p:in_x");
}

TEST_CASE("a command is waited for no longer than its run's hold lasts", "[deadlock][R22]") {
  Crossed runs;
  SECTION("the hold is another's now") { runs.x.ts = Token{{9}}; }
  SECTION("it is free") { runs.x.state = LockState::free; }
  SECTION("its process waits elsewhere by now") {
    LockRecord z = held_by("p:in_y", "z");
    stand(z, "p:in_x", {});
    CHECK(deadlock::possible_cycles({runs.x, runs.y, z}).empty());
    return;
  }
  CHECK(runs.possible().empty());
}

TEST_CASE("a possible cycle may have threads that wait themselves", "[deadlock][R21][R22]") {
  LockRecord x = held_by("p:x", "x");
  LockRecord y = held_by("p:b", "y");
  stand(x, "p:b", {});
  stand(y, "p:in_x", {*x.ts});
  SECTION("with a hold of a known thread") {}
  SECTION("with a hold that may be passed on") {
    y.who = "p:another:1" + deadlock::passed_on_up_to(63);
    CHECK(deadlock::possible_cycles({x, y}).empty());
    x.line.front().who += deadlock::having({*y.ts});
  }
  const auto found = deadlock::possible_cycles({x, y});
  REQUIRE(found.size() == 1);
  CHECK(deadlock::in_words(found.front()) ==
        "p:in_x waits for \"y\", held by p:b, which waits for \"x\", held by p:x, whose command "
        "contains p:in_x");
  CHECK(deadlock::cycles({x, y}).empty());
}

TEST_CASE("a place names the holds around its process before those that its thread has",
          "[deadlock][R21][R22]") {
  LockRecord x = held_by("p:another", "x");
  x.who += deadlock::passed_on_up_to(63);
  LockRecord y = held_by("q:b", "y");
  stand(x, "q:b", {});
  stand(y, "p:a", {Token{{8}}, Token{{9}}});
  x.process = y.line.front().process = "p";
  y.line.front().who += deadlock::having({*x.ts});
  CHECK(deadlock::cycles({x, y}).size() == 1);
  CHECK(deadlock::possible_cycles({x, y}).empty());
  y.line.front().who = "p:a:2" + deadlock::inside({*y.ts}) + deadlock::having({*x.ts});
  CHECK(deadlock::possible_cycles({x, y}).size() == 1);
  CHECK(deadlock::inside(std::vector<Token>(9)).size() == 8 * 25);
  CHECK(deadlock::inside({Token{{1}}}) == "^010000000000000000000000");
}

TEST_CASE("a shortest way back that is certain is no possible cycle", "[deadlock][R22]") {
  LockRecord x = held_by("p:a", "x");
  LockRecord y = held_by("p:b", "y");
  stand(y, "p:a", {});
  stand(x, "p:b", {});
  LockRecord z = held_by("p:c", "z");
  stand(z, "p:d", {*x.ts});
  CHECK(deadlock::cycles({x, y, z}).size() == 1);
  CHECK(deadlock::possible_cycles({x, y, z}).empty());
}

TEST_CASE("each of several waiters in one command has its possible cycle, once",
          "[deadlock][R22]") {
  Crossed runs;
  stand(runs.y, "p:also in_x", {*runs.x.ts});
  const auto found = runs.possible();
  REQUIRE(found.size() == 2);
  CHECK(found.front() != found.back());
  for (const auto& cycle : found) CHECK(cycle.size() == 2);
}

TEST_CASE("of two ways back to a waiter the shorter one is its possible cycle", "[deadlock][R22]") {
  Crossed runs;
  LockRecord z = held_by("p:z", "z");
  stand(z, "p:also in_y", {*runs.y.ts});
  stand(runs.x, "p:in_z", {*z.ts});
  const auto found = deadlock::possible_cycles({runs.x, runs.y, z});
  REQUIRE(found.size() == 2);
  CHECK(found.front().size() + found.back().size() == 2 + 3);
}

TEST_CASE("names of others are escaped in what is said of a possible cycle", "[deadlock][R22]") {
  LockRecord x = held_by("p:\x1b", "x\x1b");
  stand(x, "p:in\x1b", {*x.ts});
  const auto found = deadlock::possible_cycles({x});
  REQUIRE(found.size() == 1);
  CHECK(deadlock::in_words(found.front()).find('\x1b') == std::string::npos);
}
