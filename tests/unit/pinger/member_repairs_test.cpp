#include "pinger/member_repairs.h"

#include <catch2/catch.hpp>
#include <utility>

#include "pinger/of_another.h"

// From which members a hold may be claimed where it is lacking, and from which it never may (M9).
using namespace distlock;
using namespace std::chrono_literals;

namespace {

const Token kHold{{7}};

Token numbered(std::uint8_t number) { return Token{{number}}; }

Inspection answer_of(std::uint8_t number, Fence fence) {
  Inspection answer;
  answer.member = numbered(number);
  answer.fence = fence;
  return answer;
}

Inspection with_lock(std::uint8_t number, Fence fence, LockState state, const Token& ts) {
  Inspection made = answer_of(number, fence);
  made.lock = LockRecord{.name = "jobs",
                         .state = state,
                         .process = "ann",
                         .who = "ann:1:2",
                         .why = "work",
                         .when = StoreTime{5s},
                         .ts = ts,
                         .fence = fence,
                         .takeover_after = 16min};
  return made;
}

Inspection carrier(std::uint8_t number) { return with_lock(number, 9, LockState::taken, kHold); }

Repair repair(const std::vector<Inspection>& members) {
  return repair_of("ann", members, kHold, {numbered(3)}, {.fence = 9, .window = 16min});
}

}  // namespace

TEST_CASE("a hold gets to a member without the lock, from no document", "[mirrored][M9]") {
  const Repair it = repair({carrier(1), answer_of(2, 0), answer_of(3, 8)});
  REQUIRE(it.bases.size() == 1);
  CHECK(it.bases[0].member == numbered(3));
  CHECK(std::holds_alternative<FromAbsent>(it.bases[0].basis));
  CHECK(it.hopeless.empty());
}

TEST_CASE("a hold gets to a member where the lock is free, from that release", "[mirrored][M9]") {
  const Repair it = repair({carrier(1), with_lock(3, 8, LockState::free, Token{{4}})});
  REQUIRE(it.bases.size() == 1);
  REQUIRE(std::holds_alternative<FromFree>(it.bases[0].basis));
  CHECK(std::get<FromFree>(it.bases[0].basis).ts == Token{{4}});
}

TEST_CASE("a hold gets to a member that carries it, from exactly that grant", "[mirrored][M9]") {
  const Repair it = repair({carrier(1), carrier(3)});
  REQUIRE(it.bases.size() == 1);
  REQUIRE(std::holds_alternative<FromHold>(it.bases[0].basis));
  CHECK(std::get<FromHold>(it.bases[0].basis).ts == kHold);
  CHECK(std::get<FromHold>(it.bases[0].basis).when == StoreTime{5s});
}

TEST_CASE("a member with another hold is left alone, and asked again", "[mirrored][M9]") {
  const Repair it = repair({carrier(1), with_lock(3, 8, LockState::taken, Token{{4}})});
  CHECK(it.bases.empty());
  CHECK(it.hopeless.empty());
}

TEST_CASE("a member where the hold was freed, or that has or lost as much, never grants it",
          "[mirrored][M3][M9]") {
  const auto never_grants = [](const Inspection& member) {
    const Repair it = repair({carrier(1), member});
    CHECK(it.bases.empty());
    CHECK(it.hopeless == std::vector<Token>{numbered(3)});
  };
  never_grants(with_lock(3, 9, LockState::free, kHold));
  never_grants(with_lock(3, 10, LockState::free, Token{{4}}));
  never_grants(with_lock(3, 10, LockState::taken, Token{{4}}));
  Inspection back = answer_of(3, 9);
  back.fence_of_lost = 9;
  never_grants(back);
  back = with_lock(3, 9, LockState::free, Token{{4}});
  back.fence_of_lost = 9;
  never_grants(back);
  back = carrier(3);
  back.fence_of_lost = 9;
  never_grants(back);
}

// The claim with that fence had no majority, since the hold has one.
TEST_CASE("a hold gets to a member where a lost claim has left its fence", "[mirrored][M3][M9]") {
  const Repair it = repair({carrier(1), with_lock(3, 9, LockState::free, Token{{4}})});
  REQUIRE(it.bases.size() == 1);
  CHECK(std::get<FromFree>(it.bases[0].basis).ts == Token{{4}});
  CHECK(it.claim.repairs);
}

TEST_CASE("a member where a lost claim is not undone yet is asked again", "[mirrored][M9]") {
  const Repair it = repair({carrier(1), with_lock(3, 9, LockState::taken, Token{{4}})});
  CHECK(it.bases.empty());
  CHECK(it.hopeless.empty());
}

TEST_CASE("a repair is the claim of the hold, as a member carries it", "[mirrored][M9]") {
  Inspection without_window = carrier(1);
  without_window.lock->takeover_after.reset();
  without_window.lock->who = "another";
  const auto other = with_lock(2, 9, LockState::taken, Token{{4}});
  const Repair it = repair({without_window, other, carrier(4), answer_of(3, 8)});
  CHECK(it.bases.size() == 1);
  CHECK(it.claim.process == "ann");
  CHECK(it.claim.who == "ann:1:2");
  CHECK(it.claim.why == "work");
  CHECK(it.claim.ts == kHold);
  CHECK(it.claim.takeover_after == 16min);
  CHECK(it.claim.fence == 9);
}

TEST_CASE("a hold that no member carries is not repaired", "[mirrored][M9]") {
  const auto freed = with_lock(1, 9, LockState::free, kHold);
  const Repair it = repair({freed, answer_of(2, 0), answer_of(3, 0)});
  CHECK(it.bases.empty());
  CHECK(it.hopeless.empty());
}

TEST_CASE("a repair says what the hold was granted with, whatever most members show",
          "[mirrored][M9]") {
  Inspection edited = carrier(1);
  SECTION("the window") { edited.lock->takeover_after = 1s; }
  SECTION("the fence") { edited.lock->fence = 3; }
  SECTION("the process") { edited.lock->process = "eve"; }
  const Repair as_granted = repair({edited, edited, carrier(4), answer_of(3, 0)});
  REQUIRE(as_granted.bases.size() == 1);
  CHECK(as_granted.claim.takeover_after == 16min);
  CHECK(as_granted.claim.fence == 9);
  CHECK(as_granted.claim.process == "ann");
  // The others are away.
  CHECK(repair({edited, answer_of(3, 0)}).bases.empty());
}

TEST_CASE("a hold gets to a member whose hold is over, from exactly that hold", "[mirrored][M9]") {
  Inspection over = with_lock(3, 8, LockState::taken, Token{{4}});
  over.over = true;
  const Repair it = repair({carrier(1), over});
  REQUIRE(it.bases.size() == 1);
  REQUIRE(std::holds_alternative<FromHold>(it.bases[0].basis));
  CHECK(std::get<FromHold>(it.bases[0].basis).ts == Token{{4}});
  CHECK(std::get<FromHold>(it.bases[0].basis).when == StoreTime{5s});
}

TEST_CASE("a hold that is nobody's is over after the longest window that a member shows",
          "[mirrored][R8]") {
  Inspection shorter = carrier(2);
  shorter.lock->takeover_after = 1min;
  std::vector<Inspection> seen{carrier(1), shorter};
  const bool longer_last = GENERATE(false, true);
  if (longer_last) std::swap(seen[0], seen[1]);
  HoldsOfNobody holds;
  const SteadyTime first{1h};
  CHECK_FALSE(holds.is_over(seen, kHold, first));
  CHECK_FALSE(holds.is_over(seen, kHold, first + 16min - 1ns));
  CHECK(holds.is_over(seen, kHold, first + 16min));
}

TEST_CASE("a hold that is nobody's and states no window is over at once", "[mirrored][R8]") {
  Inspection unstated = carrier(1);
  unstated.lock->takeover_after.reset();
  HoldsOfNobody holds;
  CHECK(holds.is_over({unstated}, kHold, SteadyTime{1h}));
}

TEST_CASE("a hold that is nobody's may state a window that nanoseconds cannot count",
          "[mirrored][R8][R14]") {
  Inspection edited = carrier(1);
  edited.lock->takeover_after = std::chrono::milliseconds::max();
  HoldsOfNobody holds;
  const SteadyTime first{1h};
  CHECK_FALSE(holds.is_over({edited}, kHold, first));
  CHECK_FALSE(holds.is_over({edited}, kHold, first + 24h));
}
