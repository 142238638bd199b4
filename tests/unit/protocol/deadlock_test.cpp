#include "protocol/deadlock.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace distlock;
using namespace std::chrono_literals;

namespace {

const StoreTime kWhen{1'700'000'000'000ms};

std::string who_of(const std::string& thread) { return thread + ":1"; }

// `waiters` in the order in which they came; the first came a second after the hold.
LockRecord held(const std::string& name, const std::string& holder,
                const std::vector<std::pair<std::string, std::chrono::seconds>>& waiters = {}) {
  static std::uint8_t number = 0;
  LockRecord lock{.name = name, .state = LockState::taken, .process = holder};
  lock.who = who_of(holder);
  lock.when = kWhen;
  lock.ts = Token{{0, ++number}};
  for (const auto& [thread, after] : waiters) {
    lock.line.push_back({Token{{1, ++number}}, thread, thread + ":2", kWhen + after, {}});
  }
  return lock;
}

std::vector<std::string> locks_of(const deadlock::Cycle& cycle) {
  std::vector<std::string> names;
  for (const deadlock::Wait& wait : cycle) names.push_back(wait.lock);
  return names;
}

}  // namespace

TEST_CASE("two threads that wait for each other's lock are a cycle that begins with the last",
          "[deadlock][R22]") {
  const auto found =
      deadlock::cycles({held("x", "p:a", {{"p:b", 9s}}), held("y", "p:b", {{"p:a", 5s}})});
  REQUIRE(found.size() == 1);
  CHECK(locks_of(found.front()) == std::vector<std::string>{"x", "y"});
  CHECK(deadlock::in_words(found.front()) ==
        "p:b waits for \"x\", held by p:a, which waits for \"y\", held by p:b");
}

TEST_CASE("a thread that waits for its own lock is a cycle", "[deadlock][R22]") {
  const auto found = deadlock::cycles({held("x", "p:a", {{"p:a", 1s}})});
  REQUIRE(found.size() == 1);
  CHECK(locks_of(found.front()) == std::vector<std::string>{"x"});
}

TEST_CASE("a chain of waits is no cycle, nor are those who wait for one part of it",
          "[deadlock][R22]") {
  CHECK(deadlock::cycles(
            {held("x", "p:a"), held("y", "p:b", {{"p:a", 1s}}), held("z", "p:c", {{"p:b", 2s}})})
            .empty());
  const auto found = deadlock::cycles(
      {held("x", "p:a", {{"p:b", 1s}, {"p:late", 9s}}), held("y", "p:b", {{"p:a", 2s}})});
  REQUIRE(found.size() == 1);
  CHECK(locks_of(found.front()) == std::vector<std::string>{"y", "x"});
}

TEST_CASE("threads of one process are told apart, and what one thread does is put together",
          "[deadlock][R22]") {
  CHECK(
      deadlock::cycles({held("x", "p:a", {{"p:b", 1s}}), held("y", "p:c", {{"p:a", 2s}})}).empty());
}

TEST_CASE("a place that its thread has left behind is no wait", "[deadlock][R22]") {
  SECTION("it waits elsewhere since") {
    CHECK(deadlock::cycles({held("x", "p:a", {{"p:b", 1s}}), held("y", "p:b", {{"p:a", 2s}}),
                            held("z", "p:c", {{"p:a", 3s}})})
              .empty());
  }
  SECTION("it has got a lock since") {
    LockRecord later = held("z", "p:a");
    later.when = kWhen + 33s;
    CHECK(
        deadlock::cycles({held("x", "p:a", {{"p:b", 1s}}), held("y", "p:b", {{"p:a", 2s}}), later})
            .empty());
  }
  SECTION("the lock is free") {
    LockRecord free = held("x", "p:a", {{"p:b", 1s}});
    free.state = LockState::free;
    CHECK(deadlock::cycles({free, held("y", "p:b", {{"p:a", 2s}})}).empty());
  }
}

TEST_CASE("a place is no earlier one than a hold where a clock may have been set back",
          "[deadlock][R22]") {
  LockRecord x = held("x", "p:a", {{"p:b", 1s}});
  x.when = kWhen + 32s;
  CHECK(deadlock::cycles({x, held("y", "p:b", {{"p:a", 2s}})}).size() == 1);
  x.when = StoreTime::max();
  CHECK(deadlock::cycles({x, held("y", "p:b", {{"p:a", 2s}})}).empty());
}

TEST_CASE("a wait with a deadline is in no cycle, nor is an earlier one of its thread",
          "[deadlock][R22]") {
  const auto marked = [](LockRecord lock) {
    lock.line.front().who += deadlock::with_deadline() + deadlock::having({Token{{3}}});
    return lock;
  };
  const LockRecord x = held("x", "p:a", {{"p:b", 9s}});
  const LockRecord y = held("y", "p:b", {{"p:a", 5s}});
  REQUIRE(deadlock::cycles({x, y}).size() == 1);
  CHECK(deadlock::cycles({marked(x), y}).empty());
  CHECK(deadlock::cycles({x, marked(y)}).empty());
  CHECK(deadlock::cycles({x, y, marked(held("z", "p:c", {{"p:a", 7s}}))}).empty());
  LockRecord block = x;
  block.who += deadlock::passed_on_up_to(63) + deadlock::with_deadline();
  CHECK(deadlock::may_be_passed_on(block.who));
  block.who = x.who + deadlock::with_deadline();
  CHECK(deadlock::cycles({block, y}).size() == 1);
}

TEST_CASE("each cycle is found once, at any length", "[deadlock][R22]") {
  const int length = GENERATE(1, 2, 3, 50);
  std::vector<LockRecord> locks;
  for (int cycle = 0; cycle < 3; ++cycle) {
    const std::string process = "p" + std::to_string(cycle) + ":";
    for (int i = 0; i < length; ++i) {
      locks.push_back(held(process + "lock" + std::to_string(i), process + std::to_string(i),
                           {{process + std::to_string((i + 1) % length), 1s}}));
    }
  }
  const auto found = deadlock::cycles(locks);
  CHECK(found.size() == 3);
  for (const auto& cycle : found) CHECK(cycle.size() == static_cast<std::size_t>(length));
}

TEST_CASE("a thread that waits behind others of its process waits for that lock alone",
          "[deadlock][R22]") {
  const std::vector<LockRecord> locks{held("x", "p:a"), held("y", "p:b", {{"p:a", 5s}}),
                                      held("z", "p:c")};
  const Waiter waiter{{}, "p:b", who_of("p:b"), StoreTime::max(), {}};
  for (const char* lock : {"y", "z", "of nobody"}) {
    const deadlock::Hidden hidden{lock, waiter};
    CHECK(deadlock::cycles(locks, {hidden}).size() == (lock == std::string("y") ? 1 : 0));
  }
  const deadlock::Hidden hidden{"x", waiter};
  const auto found = deadlock::cycles(locks, {hidden});
  REQUIRE(found.size() == 1);
  CHECK(locks_of(found.front()) == std::vector<std::string>{"x", "y"});
}

TEST_CASE("of threads without a place the last that came begins their cycle", "[deadlock][R22]") {
  const std::vector<LockRecord> locks{held("x", "p:a"), held("y", "p:b")};
  const auto behind = [](const char* lock, const char* thread, std::uint8_t number) {
    const Waiter waiter{Token{{number}}, thread, who_of(thread), StoreTime::max(), {}};
    return deadlock::Hidden{lock, waiter};
  };
  const bool reversed = GENERATE(false, true);
  const auto found = deadlock::cycles(
      locks, {behind("x", "p:b", reversed ? 1 : 2), behind("y", "p:a", reversed ? 2 : 1)});
  REQUIRE(found.size() == 1);
  const std::vector<std::string> order{"x", "y"};
  CHECK(locks_of(found.front()) == (reversed ? std::vector<std::string>{"y", "x"} : order));
}

TEST_CASE("names of others are escaped in what is said of a cycle", "[deadlock][R22]") {
  const auto found = deadlock::cycles({held("x\x1b", "p:\x1b", {{"p:\x1b", 1s}})});
  REQUIRE(found.size() == 1);
  CHECK(deadlock::in_words(found.front()).find('\x1b') == std::string::npos);
}

TEST_CASE("a hold that may be passed on is of no known thread, and a place with it is",
          "[deadlock][R21][R22]") {
  LockRecord x = held("x", "p:a", {{"p:b", 9s}});
  LockRecord y = held("y", "p:b", {{"p:a", 5s}});
  REQUIRE(deadlock::passed_on_up_to(63) == "+63");
  SECTION("the place") {
    x.line.front().who += deadlock::passed_on_up_to(63);
    CHECK(deadlock::cycles({x, y}).size() == 1);
  }
  SECTION("the hold") {
    x.who += deadlock::passed_on_up_to(63);
    CHECK(deadlock::cycles({x, y}).empty());
  }
}

TEST_CASE("a hold that may be passed on is the thread's that names it where it waits",
          "[deadlock][R21][R22]") {
  LockRecord x = held("x", "p:a", {{"p:b", 9s}});
  LockRecord y = held("y", "q:b", {{"q:a", 5s}});
  x.process = y.line.front().process = "p";
  y.process = x.line.front().process = "q";
  x.who = "p:another:1" + deadlock::passed_on_up_to(63);
  y.who = "q:another:1" + deadlock::passed_on_up_to(63);
  x.line.front().who = "q:b:7";
  y.line.front().who = "p:a:7";
  CHECK(deadlock::cycles({x, y}).empty());
  const Token third{{3}};
  x.line.front().who += deadlock::passed_on_up_to(63) + deadlock::having({third, *y.ts});
  CHECK(deadlock::cycles({x, y}).empty());
  y.line.front().who += deadlock::having({*x.ts});
  const auto found = deadlock::cycles({x, y});
  REQUIRE(found.size() == 1);
  CHECK(deadlock::in_words(found.front()) ==
        "q:b waits for \"x\", held by p:a, which waits for \"y\", held by q:b");
  SECTION("not of another process") {
    x.process = "r";
    CHECK(deadlock::cycles({x, y}).empty());
  }
  SECTION("not by the name of a hold that is over") {
    x.ts = third;
    CHECK(deadlock::cycles({x, y}).empty());
  }
}

TEST_CASE("a place names the holds that its thread may pass on, eight at most",
          "[deadlock][R21][R22]") {
  CHECK(deadlock::having({}).empty());
  CHECK(deadlock::having({Token{{1}}, Token{{0xab}}}) ==
        "=010000000000000000000000,ab0000000000000000000000");
  CHECK(deadlock::having(std::vector<Token>(9)).size() == 8 * 25);
  CHECK_FALSE(deadlock::may_be_passed_on("p:+1:5"));
  CHECK_FALSE(deadlock::may_be_passed_on("p:a:5=01+"));
  CHECK(deadlock::may_be_passed_on("p:a:5+63=01"));
}
