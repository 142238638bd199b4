// The fences that a set tells a member which comes back to it (M6).
#include "stores/mirrored/returning.h"

#include <catch2/catch.hpp>

#include "stores/mirrored/identity.h"
#include "stores/mirrored/quorum.h"

using namespace distlock;
using namespace distlock::mirrored;

namespace {

constexpr std::size_t kMajority = 2;

Listed<LockRecord> lock_with(const std::string& name, Fence fence) {
  return {.id = name, .record = LockRecord{.name = name, .fence = fence}, .problem = {}};
}

/// A document whose `_id` is no name, although it may be shown like one.
Listed<LockRecord> nameless_with(const std::string& shown, Fence fence) {
  Listed<LockRecord> lock{.id = shown, .record = {}, .problem = "no name"};
  lock.named = false;
  lock.fence = fence;
  return lock;
}

ListingsByPlace of_three(const std::vector<Listed<LockRecord>>& first,
                         const std::vector<Listed<LockRecord>>& second,
                         const std::vector<Listed<LockRecord>>& third) {
  ListingsByPlace listings;
  listings[0].locks = first;
  listings[1].locks = second;
  listings[2].locks = third;
  return listings;
}

}  // namespace

TEST_CASE("members without locks tell no fence", "[mirrored][M6]") {
  const KnownFences fences = known_fences(of_three({}, {}, {}), kMajority);
  CHECK(fences.known == 3);
  CHECK(fences.greatest == 0);
  CHECK(fences.hidden.empty());
}

TEST_CASE("a great fence of one member is told to none, and one of a majority is",
          "[mirrored][M3][M6]") {
  const bool of_two = GENERATE(false, true);
  const auto great = lock_with("jobs", kGreatFence);
  const auto sound = lock_with("jobs", 5);
  const KnownFences fences =
      known_fences(of_three({great}, {of_two ? great : sound}, {sound}), kMajority);
  CHECK(fences.greatest == (of_two ? kGreatFence : 5));
  CHECK(fences.known == (of_two ? 3 : 2));
  CHECK(fences.hidden.empty());
}

TEST_CASE("a document without a name tells no fence", "[mirrored][M6][R14]") {
  const auto nameless = nameless_with("jobs", 50);
  const auto sound = lock_with("jobs", 5);
  const KnownFences fences = known_fences(of_three({nameless, sound}, {sound}, {}), kMajority);
  CHECK(fences.greatest == 5);
  CHECK(fences.known == 3);
  SECTION("nor does it make a great one that of a majority") {
    const auto great = nameless_with("jobs", kGreatFence);
    const KnownFences beside =
        known_fences(of_three({lock_with("jobs", kGreatFence)}, {great}, {sound}), kMajority);
    CHECK(beside.greatest == 5);
  }
}

TEST_CASE("a member with a malformed identity tells the fence of no lock", "[mirrored][M6][R14]") {
  const Listed<LockRecord> odd{std::string(kIdentityName), {}, "it is odd"};
  const KnownFences fences =
      known_fences(of_three({odd, lock_with("jobs", 90)}, {lock_with("jobs", 5)}, {}), kMajority);
  CHECK(fences.greatest == 5);
  CHECK(fences.known == 2);
}
