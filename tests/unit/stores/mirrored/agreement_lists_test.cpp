#include <catch2/catch.hpp>

#include "stores/mirrored/agreement.h"
#include "stores/mirrored/quorum.h"

using namespace distlock;
using namespace distlock::mirrored;
using namespace std::chrono_literals;

// Lists of members of which one has a malformed document (M8, R14).
namespace {

using Listings = std::vector<MemberListing>;

Listings three_listings() {
  Listings all;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    all.push_back({Token{{i}}, {.locks = {}, .pings = {}, .now = {StoreTime{1h}, "clock"}}});
  }
  return all;
}

Listed<LockRecord> lock_on(const std::string& name, LockState state, std::uint8_t ts, Fence fence) {
  LockRecord lock{.name = name, .state = state, .ts = Token{{ts}}};
  lock.fence = fence;
  return {name, lock, {}};
}

/// How many entries of that id are sound, and how many are malformed.
template <class Record>
std::pair<int, int> sound_and_malformed(const std::vector<Listed<Record>>& all,
                                        const std::string& id) {
  std::pair<int, int> numbers;
  for (const auto& entry : all) {
    if (entry.id == id) ++(entry.record ? numbers.first : numbers.second);
  }
  return numbers;
}

}  // namespace

TEST_CASE("a list shows a ping that is sound on some members and malformed on another",
          "[mirrored][M8][R14]") {
  Listings listings = three_listings();
  const std::size_t malformed = GENERATE(0, 1, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    const PingRecord ping{.process = "ann", .ping = StoreTime{1s}, .clock = {}, .health = {}};
    auto& pings = listings[i].listing.pings;
    if (i == malformed) pings.push_back({"ann", {}, "it is odd"});
    if (i != malformed) pings.push_back({"ann", ping, {}});
  }
  CHECK(sound_and_malformed(merged(listings, 2).pings, "ann") == std::pair{1, 1});
}

TEST_CASE("a list shows a lock that is sound on some members and malformed on another",
          "[mirrored][M8][R14]") {
  Listings listings = three_listings();
  const std::size_t malformed = GENERATE(0, 1, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    LockRecord lock;
    lock.name = "jobs";
    auto& locks = listings[i].listing.locks;
    if (i == malformed) locks.push_back({"jobs", {}, "it is odd"});
    if (i != malformed) locks.push_back({"jobs", lock, {}});
  }
  CHECK(sound_and_malformed(merged(listings, 2).locks, "jobs") == std::pair{1, 1});
}

TEST_CASE("a list is in the order of names, whichever members have the documents",
          "[mirrored][M8]") {
  Listings listings = three_listings();
  for (const auto& [member, name] : {std::pair{0, "ann"}, {0, "cid"}, {1, "bob"}, {2, "dan"}}) {
    Listing& listing = listings[static_cast<std::size_t>(member)].listing;
    listing.locks.push_back({name, LockRecord{.name = name}, {}});
    const PingRecord ping{.process = name, .ping = StoreTime{1s}, .clock = {}, .health = {}};
    listing.pings.push_back({name, ping, {}});
  }
  const Listing all = merged(listings, 2);
  std::string locks;
  for (const auto& lock : all.locks) locks += lock.id + ' ';
  CHECK(locks == "ann bob cid dan ");
  std::string pings;
  for (const auto& ping : all.pings) pings += ping.id + ' ';
  CHECK(pings == "ann bob cid dan ");
}

TEST_CASE("the listing of a member that a look leaves out shows that lock as a problem",
          "[mirrored][M3][M4]") {
  Listings listings = three_listings();
  const bool listed = GENERATE(true, false);
  for (std::size_t i = 0; i < 3; ++i) {
    LockRecord lock{.name = "jobs", .state = LockState::taken, .ts = Token{{7}}};
    lock.fence = i == 0 && listed ? kGreatFence : 5;
    if (i > 0 || listed) listings[i].listing.locks.push_back({"jobs", lock, {}});
  }
  if (!listed) listings[0].fence_of_lost = kGreatFence;
  const Listings left = without_great_fences(listings, 2);
  CHECK(sound_and_malformed(left[0].listing.locks, "jobs") == std::pair(0, 1));
  CHECK(sound_and_malformed(left[1].listing.locks, "jobs") == std::pair(1, 0));
  CHECK(sound_and_malformed(merged(listings, 2).locks, "jobs") == std::pair(1, 0));
}

TEST_CASE("the listing of a member that is left out for one lock shows its other documents",
          "[mirrored][M3][M4]") {
  Listings listings = three_listings();
  for (std::size_t i = 0; i < 3; ++i) {
    auto& locks = listings[i].listing.locks;
    locks.push_back(lock_on("jobs", LockState::taken, 7, i == 0 ? kGreatFence : 5));
    locks.push_back(lock_on("rotate", LockState::taken, 8, 6));
  }
  listings[0].listing.locks.push_back({"jobs", {}, "its _id is no name", false});
  const Listings left = without_great_fences(listings, 2);
  const auto& locks = left[0].listing.locks;
  CHECK(sound_and_malformed(locks, "rotate") == std::pair(1, 0));
  CHECK(sound_and_malformed(locks, "jobs") == std::pair(0, 2));
}

TEST_CASE("a list shows a hold that a minority carries, beside it a lock that most cannot tell",
          "[mirrored][M1][M8][R14]") {
  Listings listings = three_listings();
  const std::size_t sound = GENERATE(0, 1, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    auto& locks = listings[i].listing.locks;
    if (i == sound) locks.push_back(lock_on("left over", LockState::taken, 7, 5));
    if (i == sound) locks.push_back(lock_on("odd", LockState::free, 8, 5));
    if (i != sound) locks.push_back({"odd", {}, "it is odd"});
  }
  const auto locks = merged(listings, 2).locks;
  REQUIRE(sound_and_malformed(locks, "left over") == std::pair(1, 0));
  REQUIRE(sound_and_malformed(locks, "odd") == std::pair(1, 1));
  CHECK(locks[0].record->taken());
  CHECK(locks[0].record->members == std::vector<Token>{listings[sound].member});
  CHECK_FALSE(locks[1].record->taken());
}

TEST_CASE("a list shows no hold of a member that a look leaves out for its great fence",
          "[mirrored][M3][M8]") {
  Listings listings = three_listings();
  const std::size_t great = GENERATE(0, 1, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_great = i == great;
    listings[i].listing.locks.push_back(lock_on("jobs", LockState::taken,
                                                is_great ? 9 : static_cast<std::uint8_t>(i + 1),
                                                is_great ? kGreatFence : 5));
  }
  CHECK(merged(listings, 2).locks.at(0).record->fence == 5);
}

TEST_CASE("a listing names the locks whose hold on a member is over", "[mirrored][M4]") {
  Listings listings = three_listings();
  const auto put = [&](std::size_t member, const char* name, LockState state, std::uint8_t ts,
                       Fence fence) {
    listings[member].listing.locks.push_back(lock_on(name, state, ts, fence));
  };
  for (const char* name : {"a", "c"}) {
    put(0, name, LockState::taken, 1, 1);
    put(1, name, LockState::free, 1, 1);
  }
  put(2, "a", LockState::taken, 2, 2);
  put(0, "b", LockState::taken, 3, 7);
  put(1, "b", LockState::taken, 3, 7);
  put(2, "c", LockState::free, 0, 1);
  put(0, "d", LockState::taken, 4, 5);
  put(0, "e", LockState::free, 5, 1);
  put(1, "e", LockState::free, 5, 1);
  put(2, "e", LockState::taken, 5, 1);
  const Listings with_ends = with_ends_of_holds(listings, 2);
  CHECK(with_ends[0].over == std::vector<std::string>{"a"});
  CHECK(with_ends[1].over.empty());
  CHECK(with_ends[2].over == std::vector<std::string>{"e"});
  // Their identities show that they were emptied, and granted nothing of the kind since.
  listings[1].fence_of_lost = listings[2].fence_of_lost = 5;
  CHECK(with_ends_of_holds(listings, 2)[0].over == std::vector<std::string>{"a", "c", "d"});
}
