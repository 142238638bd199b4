#include "lock/turn_of_line.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "support/captured_log.h"
#include "support/fleet.h"

// lock_try() on the lock of a dead holder, for which others stand in line (R17).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// "jobs" is held by somebody who pings no more, and others stand in line for it.
class Deserted {
 public:
  explicit Deserted(std::uint8_t in_line) {
    REQUIRE(holder_->lock_try("first"));
    fleet.store->ping("w", {});
    for (std::uint8_t number = 1; number <= in_line; ++number) {
      REQUIRE(fleet.store->line()->stand("jobs", fleet.claim_by("w", Token{{number}})).in_line);
    }
    process.store->has_line = true;
  }

  Fleet fleet;
  Process process = fleet.process("poller");

 private:
  std::unique_ptr<DistributedLock> holder_ = fleet.process("holder").lock("jobs");
};

}  // namespace

TEST_CASE("lock_try takes over from a silent holder after the turns of those in line",
          "[waiting][R6][R17]") {
  const auto [in_line, turns] = GENERATE(table<std::uint8_t, std::chrono::milliseconds>(
      {{0, 0ms}, {1, 100ms}, {2, 150ms}, {3, 200ms}}));
  Deserted scene(in_line);
  scene.fleet.clock->advance(16min + turns - 1ms);
  LockRecord other;
  if (in_line > 0) CHECK_FALSE(scene.process.lock("jobs")->lock_try("early", &other));
  if (in_line > 0) CHECK(other.process == "holder");
  scene.fleet.clock->advance(1ms);
  CHECK(scene.process.lock("jobs")->lock_try("in time"));
}

TEST_CASE("a takeover is logged when it begins, and not while others come first",
          "[waiting][log][R17]") {
  Deserted scene(1);
  const bool ended = GENERATE(false, true);
  scene.process.store->holders_ended = ended;
  const auto lock = scene.process.lock("jobs");
  Captured log;
  scene.fleet.clock->advance(ended ? std::chrono::milliseconds{10s} : 16min);
  CHECK_FALSE(lock->lock_try("early"));
  CHECK(log.count(severity_level::info, "taking over from") == 0);
  scene.fleet.clock->advance(100ms);
  CHECK(lock->lock_try("in time"));
  CHECK(log.count(severity_level::info, "taking over from") == 1);
}

TEST_CASE("lock_try takes over from an ended holder when the turns are over since it saw that",
          "[waiting][R17][R23]") {
  Deserted scene(2);
  scene.process.store->holders_ended = true;
  const auto lock = scene.process.lock("jobs");
  scene.fleet.clock->advance(10s);
  CHECK_FALSE(lock->lock_try("at once"));
  scene.fleet.clock->advance(149ms);
  CHECK_FALSE(lock->lock_try("early"));
  CHECK_FALSE(scene.process.lock("jobs")->lock_try("for the first time"));
  scene.fleet.clock->advance(1ms);
  CHECK(lock->lock_try("in time"));
}

TEST_CASE("those in line for a holder that ended long ago keep nobody from its lock",
          "[waiting][R17][R23]") {
  Deserted scene(3);
  scene.process.store->holders_ended = true;
  scene.fleet.clock->advance(1min - 1ms);
  CHECK_FALSE(scene.process.lock("jobs")->lock_try("early"));
  scene.fleet.clock->advance(1ms);
  CHECK(scene.process.lock("jobs")->lock_try("in time"));
}

TEST_CASE("where nobody stands in line lock_try takes over from an ended holder at once",
          "[waiting][R17][R23]") {
  Deserted scene(0);
  scene.process.store->holders_ended = true;
  CHECK(scene.process.lock("jobs")->lock_try("at once"));
}

TEST_CASE("those who died with a holder keep nobody from its lock", "[waiting][R17][R23]") {
  Deserted scene(2);
  scene.process.store->holders_ended = true;
  SECTION("whose pings are gone") { scene.fleet.store->remove_ping("w"); }
  SECTION("whose ends the kernel saw") { scene.process.store->ended_in_lists = "w"; }
  CHECK(scene.process.lock("jobs")->lock_try("at once"));
}

TEST_CASE("a wait by polling looks again when the turns of those in line are over",
          "[waiting][R15][R17]") {
  Deserted scene(2);
  scene.fleet.clock->advance(16min);
  const auto start = scene.fleet.clock->steady_now();
  LockOptions polling;
  polling.wait_rule = WaitRule::polling;
  CHECK(scene.process.lock("jobs", polling)->try_lock_for(1h));
  CHECK(scene.fleet.clock->steady_now() - start < 300ms);
}

TEST_CASE("the turns for an ended holder count anew for the next one", "[waiting][R17][R23]") {
  LockRecord lock;
  lock.ts = Token{{1}};
  lock.line.push_back({Token{{9}}, "w", "w:1", StoreTime{1h}, {}});
  Inspection seen{
      .lock = lock, .ping = PingRecord{.process = "p"}, .now = StoreNow{StoreTime{1h}, "clock"}};
  seen.ping->ping = StoreTime{1h};
  seen.ping->clock = "clock";
  const protocol::Judgement ended{protocol::Verdict::dead, protocol::Reason::ended};
  TurnOfLine turn;
  CHECK(turn.left(ended, seen, 1min, SteadyTime{0ms}) == 100ms);
  CHECK(turn.left(ended, seen, 1min, SteadyTime{99ms}) == 1ms);
  CHECK(turn.left(ended, seen, 1min, SteadyTime{100ms}) <= 0ms);
  seen.lock->ts = Token{{2}};
  CHECK(turn.left(ended, seen, 1min, SteadyTime{100ms}) == 100ms);
  CHECK(turn.left(ended, seen, 1min, SteadyTime{200ms}) <= 0ms);
  // Marked ones are not waited for.
  seen.lock->ts = Token{{3}};
  seen.lock->line.front().passed_over = StoreTime{1h};
  CHECK(turn.left(ended, seen, 1min, SteadyTime{200ms}) <= 0ms);
  // Times of two clocks are not compared (R4).
  seen.lock->ts = Token{{4}};
  seen.lock->line.front().passed_over.reset();
  seen.ping->clock = "another";
  CHECK(turn.left(ended, seen, 1min, SteadyTime{200ms}) <= 0ms);
}

TEST_CASE("somebody who is waited for lives unless the ping is gone, or its end was seen",
          "[waiting][R17][R23]") {
  std::vector<Waiter> line{{Token{{1}}, "a", "a:1", StoreTime{1h}, {}},
                           {Token{{2}}, "b", "b:1", StoreTime{1h}, {}}};
  std::vector<Listed<PingRecord>> pings{{"b", PingRecord{.process = "b"}, {}}};
  CHECK(somebody_lives(line, pings));
  pings[0].record->ended = true;
  CHECK_FALSE(somebody_lives(line, pings));
  pings.push_back({"a", std::nullopt, "malformed"});
  CHECK(somebody_lives(line, pings));
  line[0].passed_over = StoreTime{1h};
  CHECK_FALSE(somebody_lives(line, pings));
}

TEST_CASE("lock_try counts the turns of those in line from the end of the holder's own window",
          "[waiting][R6][R17]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("jobs", {.takeover_after = 1h});
  REQUIRE(holder->lock_try("first"));
  fleet.store->ping("w", {});
  REQUIRE(fleet.store->line()->stand("jobs", fleet.claim_by("w", Token{{1}})).in_line);
  const Process process = fleet.process("poller");
  process.store->has_line = true;
  const auto lock = process.lock("jobs");
  fleet.clock->advance(1h + 99ms);
  CHECK_FALSE(lock->lock_try("early"));
  fleet.clock->advance(1ms);
  CHECK(lock->lock_try("in time"));
}
