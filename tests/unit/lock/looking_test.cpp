// Looks of a waiter in line: when they come, and what it does about what it sees (R17, R23).
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A lock that "holder" holds, and "waiter", whose calls meet what the test says.
struct Watcher {
  Watcher() {
    store.has_line = true;
    REQUIRE(held->lock_try("a long job"));
    begun = fleet.clock->steady_now();
  }

  /// Runs in the middle of the look with that number; the first is 1.
  void at_look(int number, std::function<void()> action) {
    store.before("inspect", [this, number, action = std::move(action)] {
      if (number == 1) return action();
      at_look(number - 1, action);
    });
  }
  std::chrono::nanoseconds passed() const { return fleet.clock->steady_now() - begun; }
  void free_unheard() {
    REQUIRE(fleet.store->release("jobs", *fleet.stored("jobs").ts) == ReleaseResult::freed);
  }
  void rival_claims_what_is_free() {
    const Token freed = *fleet.stored("jobs").ts;
    const Claim rival = fleet.claim_by("rival", Token{{9}});
    REQUIRE(fleet.store->claim("jobs", FromFree{freed}, rival));
  }
  void rival_takes_over() {
    const LockRecord dead = fleet.stored("jobs");
    fleet.store->ping("rival", {});
    const Claim claim = fleet.claim_by("rival", Token{{9}});
    REQUIRE(fleet.store->claim("jobs", FromHold{*dead.ts, dead.when}, claim));
  }
  void another_stands(std::uint8_t number = 7) {
    REQUIRE(fleet.store->line()->stand("jobs", fleet.claim_by("gone", Token{{number}})).in_line);
  }

  Fleet fleet;
  std::unique_ptr<DistributedLock> held = fleet.process("holder").lock("jobs");
  Process waiter = fleet.process("waiter");
  FaultyStore& store = *waiter.store;
  SteadyTime begun;
  LockRecord other;
};

}  // namespace

TEST_CASE("a waiter in line looks after its pause, more or less, and when it is to tell",
          "[waiting][R15][R20]") {
  Watcher one;
  std::vector<std::chrono::nanoseconds> looks;
  one.store.during_each_call([&](const std::string& call) {
    if (call == "inspect") looks.push_back(one.passed());
  });
  const auto lock = one.waiter.lock("jobs", {.recheck = 1s});
  std::vector<std::chrono::nanoseconds> told;
  lock->on_waiting([&](const WaitReport&) { told.push_back(one.passed()); });
  CHECK_FALSE(lock->try_lock_for(2min, {}, "y", &one.other));
  one.store.during_each_call({});
  CHECK(told == std::vector<std::chrono::nanoseconds>{500ms});
  REQUIRE(looks.size() > 50);
  CHECK(looks[0] == 0s);
  CHECK(looks[1] == 500ms);
  std::vector<std::chrono::nanoseconds> pauses;
  for (std::size_t i = 2; i < looks.size(); ++i) pauses.push_back(looks[i] - looks[i - 1]);
  const auto [least, most] = std::minmax_element(pauses.begin(), pauses.end());
  CHECK((*least >= 500ms && *least < 600ms));
  CHECK((*most < 1500ms && *most > 1400ms));
}

TEST_CASE("a wait in line names the holder that its last look has seen", "[waiting][R15]") {
  Watcher one;
  one.at_look(2, [&] { one.rival_takes_over(); });
  CHECK_FALSE(one.waiter.lock("jobs")->try_lock_for(1min, {}, "y", &one.other));
  CHECK(one.other.process == "rival");
}

TEST_CASE("a waiter whose look finds no document takes the lock", "[waiting][R2][R17]") {
  Watcher one;
  one.at_look(1, [&] { one.fleet.memory.tables.remove_lock("jobs"); });
  CHECK(one.waiter.lock("jobs")->try_lock_for(1min, {}, "y", &one.other));
  CHECK(one.other.process.empty());
}

TEST_CASE("a waiter whose look finds the lock free has it only once the store grants it",
          "[waiting][R1][R17]") {
  Watcher one;
  const auto lock = one.waiter.lock("jobs");
  SECTION("and a rival was quicker") {
    one.at_look(1, [&] {
      one.free_unheard();
      one.store.before("stand", [&] {
        one.fleet.clock->advance(1s);
        one.rival_claims_what_is_free();
      });
    });
  }
  SECTION("and so has the hold of its own that somebody freed") {
    one.store.fail("stand", Fault::delayed);
    one.at_look(1, [&] {
      one.free_unheard();
      one.store.deliver();
      one.free_unheard();
      one.store.before("stand", [&] { one.rival_claims_what_is_free(); });
    });
  }
  CHECK_FALSE(lock->try_lock_for(10s));
  CHECK_FALSE(lock->held());
  CHECK(one.fleet.stored("jobs").process == "rival");
}

TEST_CASE("a waiter keeps the hold that its look finds to be its own", "[waiting][R8][R18]") {
  Watcher one;
  one.store.fail("stand", Fault::delayed);
  one.at_look(1, [&] {
    one.free_unheard();
    one.store.deliver();
  });
  const auto lock = one.waiter.lock("jobs");
  REQUIRE(lock->try_lock_for(10s));
  CHECK(lock->fence() == 2);
}

TEST_CASE("a waiter behind another takes over from the silent a turn after the window",
          "[waiting][R6][R17]") {
  Watcher one;
  one.another_stands();
  one.waiter.lock("jobs")->lock();
  CHECK(one.passed() >= 16min + 100ms);
  CHECK(one.passed() < 16min + 200ms);
}

TEST_CASE("a waiter in line looks when the holder can be dead, however soon that is",
          "[waiting][R6][R17]") {
  Watcher one;
  one.at_look(1, [&] { one.fleet.clock->advance(16min - 1ms - one.passed()); });
  one.waiter.lock("jobs", {.recheck = 1min})->lock();
  CHECK(one.passed() == 16min);
}

// Those in front may be gone. Looks come by chance meanwhile.
TEST_CASE("a waiter takes over from a silent holder in its turn, whenever it looks",
          "[waiting][R6][R17]") {
  const auto in_front = GENERATE(range(0, 4));
  Watcher one;
  for (int i = 0; i < in_front; ++i) one.another_stands(static_cast<std::uint8_t>(7 + i));
  one.at_look(1, [&] { one.fleet.clock->advance(16min - 1ms - one.passed()); });
  one.waiter.lock("jobs", {.recheck = 10ms})->lock();
  const auto turn = std::vector{0ms, 100ms, 150ms, 200ms}.at(in_front);
  CHECK(one.passed() >= 16min + turn);
  CHECK(one.passed() < 16min + turn + 20ms);
}

TEST_CASE("a waiter in line looks no more often where no takeover can be foretold",
          "[waiting][R7][R20]") {
  Watcher one;
  one.fleet.store->remove_ping("holder");
  std::stop_source enough;
  one.store.during_each_call([&](const std::string&) {
    if (one.store.calls("inspect") > 200) enough.request_stop();
  });
  CHECK_FALSE(one.waiter.lock("jobs", {.recheck = 1s})->try_lock_for(1min, enough.get_token()));
  one.store.during_each_call({});
  CHECK(one.store.calls("inspect") <= 121);
}

TEST_CASE("no takeover is sent once the ping before it has outlasted the wait",
          "[waiting][R6][R15]") {
  Watcher one;
  one.fleet.clock->advance(17min);
  one.waiter.pinger->ping_round();
  one.at_look(1, [&] {
    one.fleet.clock->advance(4min);
    one.store.before("ping", [&] { one.fleet.clock->advance(2min); });
  });
  CHECK_FALSE(one.waiter.lock("jobs")->try_lock_for(5min));
  CHECK(one.store.calls("claim") == 0);
}

TEST_CASE("a waiter whose takeover a rival has won looks a turn later, and keeps its place",
          "[waiting][R17][R23]") {
  Watcher one;
  one.store.holders_ended = true;
  Token place;
  std::vector<std::chrono::nanoseconds> looks;
  one.store.before("claim", [&] {
    place = one.fleet.stored("jobs").line.front().ticket;
    one.rival_takes_over();
    one.store.holders_ended = false;
    one.at_look(1, [&] {
      looks.push_back(one.passed());
      CHECK(one.fleet.stored("jobs").line.front().ticket == place);
    });
  });
  CHECK_FALSE(one.waiter.lock("jobs", {.recheck = 1h})->try_lock_for(1min));
  CHECK(looks == std::vector<std::chrono::nanoseconds>{100ms});
}

TEST_CASE("a waiter waits for its turn anew where the ended holder was alive in between",
          "[waiting][R17][R23]") {
  Watcher one;
  one.another_stands();
  int stood = 0;
  std::chrono::nanoseconds again{0};
  one.at_look(1, [&] {
    one.store.holders_ended = true;
    one.at_look(1, [&] {
      one.store.something_acts_for_them = true;
      stood = one.store.calls("stand");
      one.store.before("stand", [&] { one.store.holders_ended = false; });
      one.at_look(1, [&] {
        CHECK(one.store.calls("stand") == stood + 1);
        one.store.holders_ended = true;
        one.store.something_acts_for_them = false;
        again = one.passed();
      });
    });
  });
  CHECK(one.waiter.lock("jobs", {.recheck = 1min})->try_lock_for(10min));
  CHECK(one.passed() == again + 100ms);
}

TEST_CASE("a waiter asks once about a holder that it sees for the first time at a look",
          "[waiting][R23][R19]") {
  Watcher one;
  one.store.rings_for_ends = true;
  int stood = 0;
  std::vector<int> stands_since;
  const auto note = [&] { stands_since.push_back(one.store.calls("stand") - stood); };
  one.at_look(2, [&] {
    one.rival_takes_over();
    stood = one.store.calls("stand");
    one.at_look(1, [&] {
      note();
      one.at_look(1, note);
    });
  });
  CHECK_FALSE(one.waiter.lock("jobs", {.recheck = 1s})->try_lock_for(1min));
  CHECK(stands_since == std::vector<int>{1, 1});
}

TEST_CASE("a waiter whose takeover was certainly refused keeps its place", "[waiting][R17][R18]") {
  Watcher one;
  one.fleet.clock->advance(17min);
  std::vector<std::string> line;
  one.store.after("stand", [&] { one.another_stands(); });
  one.store.before("claim", [&] {
    one.store.fail("claim", Fault::rejected);
    one.store.before("claim", [&] {
      for (const Waiter& waiter : one.fleet.stored("jobs").line) line.push_back(waiter.process);
    });
  });
  REQUIRE(one.waiter.lock("jobs")->try_lock_for(1h));
  CHECK(line == std::vector<std::string>{"waiter", "gone"});
}

TEST_CASE("a waiter counts its turn from the end of the holder's own window",
          "[waiting][R6][R17]") {
  Fleet fleet;
  const auto held = fleet.process("holder").lock("jobs", {.takeover_after = 1h});
  REQUIRE(held->lock_try("a long job"));
  const SteadyTime begun = fleet.clock->steady_now();
  const auto passed = [&] { return fleet.clock->steady_now() - begun; };
  REQUIRE(fleet.store->line()->stand("jobs", fleet.claim_by("gone", Token{{7}})).in_line);
  const Process waiter = fleet.process("waiter");
  waiter.store->has_line = true;
  waiter.store->before("inspect", [&] { fleet.clock->advance(1h - 1ms - passed()); });
  const auto lock = waiter.lock("jobs", {.recheck = 10ms});
  lock->lock();
  CHECK(passed() >= 1h + 100ms);
  CHECK(passed() < 1h + 120ms);
}

TEST_CASE("a hold that a waiter has taken over states the reason of its wait",
          "[waiting][R6][R14]") {
  Watcher one;
  one.fleet.clock->advance(17min);
  const auto lock = one.waiter.lock("jobs");
  REQUIRE(lock->try_lock_for(1h, {}, "in its place"));
  CHECK(one.store.calls("claim") == 1);
  CHECK(one.fleet.stored("jobs").why == "in its place");
}
