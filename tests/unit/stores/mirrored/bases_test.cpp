// From what the members are claimed, where a claim says what it starts from (M2).
#include "stores/mirrored/bases.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace distlock::mirrored;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kEnough = 2;
constexpr Token kOld{{1}};
constexpr Token kOther{{2}};

std::optional<LockRecord> lock_with(LockState state, const Token& ts, Fence fence) {
  LockRecord lock{.name = "jobs", .state = state, .when = StoreTime{1h}, .ts = ts};
  lock.fence = fence;
  return lock;
}

std::vector<Inspection> looks_at(const std::vector<std::optional<LockRecord>>& locks) {
  std::vector<Inspection> looks;
  for (const auto& lock : locks) {
    looks.push_back({.lock = lock, .fresh = true});
    looks.back().member = Token{{9, static_cast<std::uint8_t>(looks.size())}};
    looks.back().fence = lock ? lock->fence : 0;
  }
  return looks;
}

/// How many members are claimed from this, where the third has no document.
std::size_t claimed_from(const ClaimBasis& basis, const std::optional<LockRecord>& first,
                         const std::optional<LockRecord>& second) {
  return bases_in(looks_at({first, second, std::nullopt}), basis, kEnough).bases.size();
}

}  // namespace

TEST_CASE("a claim from a free lock starts from one that was freed of the hold which it names",
          "[mirrored][M2]") {
  const auto freed = lock_with(LockState::free, kOld, 5);
  CHECK(claimed_from(FromFree{kOld}, freed, freed) == 3);
  CHECK(claimed_from(FromFree{}, freed, freed) == 3);
  CHECK(claimed_from(FromFree{kOld}, freed, lock_with(LockState::free, kOther, 5)) == 0);
  CHECK(claimed_from(FromFree{kOld}, freed, lock_with(LockState::taken, kOld, 5)) == 0);
  CHECK(claimed_from(FromFree{kOld}, freed, std::nullopt) == 0);
}

TEST_CASE("a claim from a hold starts from that very hold where it is taken", "[mirrored][M2]") {
  const auto hold = lock_with(LockState::taken, kOld, 5);
  CHECK(claimed_from(FromHold{kOld, StoreTime{1h}}, hold, hold) == 3);
  CHECK(claimed_from(FromHold{kOld, std::nullopt}, hold, hold) == 3);
  CHECK(claimed_from(FromHold{kOld, StoreTime{2h}}, hold, hold) == 0);
  CHECK(claimed_from(FromHold{kOther, std::nullopt}, hold, hold) == 0);
  CHECK(claimed_from(FromHold{kOld, std::nullopt}, hold, std::nullopt) == 0);
  const auto freed = lock_with(LockState::free, kOld, 5);
  CHECK(claimed_from(FromHold{kOld, std::nullopt}, hold, freed) == 0);
}

TEST_CASE("a claim is refused where another one has come first, with a greater fence",
          "[mirrored][M2]") {
  const auto members = [](const ClaimBasis& basis, const std::optional<LockRecord>& start,
                          const std::optional<LockRecord>& third) {
    return bases_in(looks_at({start, start, third}), basis, kEnough).bases.size();
  };
  const auto freed = lock_with(LockState::free, kOld, 5);
  CHECK(members(FromFree{kOld}, freed, lock_with(LockState::taken, kOther, 6)) == 0);
  CHECK(members(FromFree{kOld}, freed, lock_with(LockState::taken, kOther, 5)) == 2);
  CHECK(members(FromFree{kOld}, freed, lock_with(LockState::free, kOther, 6)) == 3);
  CHECK(members(FromAbsent{}, std::nullopt, lock_with(LockState::taken, kOther, 1)) == 0);
}

TEST_CASE("the fence of a claim is told by all members, and by those where its basis holds",
          "[mirrored][M2][M3]") {
  const auto freed = lock_with(LockState::free, kOld, 5);
  auto looks = looks_at({freed, freed, lock_with(LockState::free, kOther, 8)});
  looks[0].fence = 7;  // Its own, as that of a member that came back.
  const Bases found = bases_in(looks, FromFree{kOld}, kEnough);
  CHECK(found.of_basis == 5);
  CHECK(found.greatest == 8);
}
