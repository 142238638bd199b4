#include "stores/mirrored/agreement.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>

using namespace distlock;
using namespace distlock::mirrored;
using namespace std::chrono_literals;

// Merged answers of members that are files on one machine. Their clocks have one name. Beside them
// run the clocks of the machine's other time namespaces.
namespace {

constexpr std::size_t kMajorityOfThree = 2;

Token member(int number) { return Token{{static_cast<std::uint8_t>(number)}}; }

StoreNow file_now() { return {StoreTime{1h}, "boot/+0ns", true, {"boot/"}}; }

PingRecord ping_from_beside() {
  return {.process = "beside", .ping = StoreTime{1s}, .clock = "boot/+5ns", .health = {}};
}

LockRecord held() {
  return {.name = "jobs",
          .state = LockState::taken,
          .process = "beside",
          .when = StoreTime{1s},
          .ts = Token{{9}}};
}

// By a clock whose age is not believed (R6).
bool is_unrelated(const StoreNow& now, const PingRecord& ping) {
  return !now.unrelated.empty() && ping.clock->starts_with(now.unrelated.back());
}

}  // namespace

TEST_CASE("a look at a mirrored store tells which clocks run beside its own",
          "[mirrored][M4][R6]") {
  std::vector<Inspection> looks;
  for (int i = 1; i <= 3; ++i) {
    looks.push_back({.lock = held(), .ping = ping_from_beside(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
  }
  const Inspection all = merged(looks, kMajorityOfThree);
  CHECK(all.now->clock == to_hex(member(1)) + " boot/+0ns");
  CHECK(is_unrelated(*all.now, *all.ping));
}

TEST_CASE("a look at a mirrored store is fresh only if that at each member is",
          "[mirrored][M4][R6]") {
  std::vector<Inspection> looks;
  for (int i = 1; i <= 3; ++i) {
    looks.push_back({.lock = held(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
  }
  CHECK(merged(looks, kMajorityOfThree).fresh);
  looks[GENERATE(0U, 1U, 2U)].fresh = false;
  CHECK_FALSE(merged(looks, kMajorityOfThree).fresh);
}

TEST_CASE("a list of a mirrored store tells which clocks run beside its own",
          "[mirrored][M4][R6]") {
  std::vector<MemberListing> listings;
  for (int i = 1; i <= 3; ++i) {
    Listing listing{.locks = {{"jobs", held(), {}}}, .pings = {}, .now = file_now()};
    listing.pings.push_back({"beside", ping_from_beside(), {}});
    listings.push_back({member(i), listing});
  }
  const Listing all = merged(listings, kMajorityOfThree);
  CHECK(all.now.clock == to_hex(member(1)) + " boot/+0ns");
  REQUIRE(all.pings.size() == 1);
  CHECK(is_unrelated(all.now, *all.pings.front().record));
}

TEST_CASE("a hold is a member's only with a greater fence than holds that it has lost",
          "[mirrored][M3][M6]") {
  std::vector<Inspection> looks;
  for (int i = 1; i <= 3; ++i) {
    looks.push_back({.lock = held(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
    looks.back().lock->fence = 6;
    looks.back().fence = 6;
    looks.back().fence_of_lost = std::array<Fence, 4>{0, 0, 6, 5}.at(static_cast<std::size_t>(i));
  }
  const std::vector<Token> carriers{member(1), member(3)};
  CHECK(merged(looks, kMajorityOfThree).lock->members == carriers);
  std::vector<MemberListing> listings;
  for (const Inspection& look : looks) {
    const Listing listing{.locks = {{"jobs", look.lock, {}}}, .pings = {}, .now = file_now()};
    listings.push_back({look.member, listing, look.fence_of_lost});
  }
  CHECK(merged(listings, kMajorityOfThree).locks.front().record->members == carriers);
}

TEST_CASE("a lock is told from a document whose id only looks like its name",
          "[mirrored][M8][R14]") {
  const std::string name = "whose _id is odd";
  std::vector<MemberListing> listings;
  for (int i = 1; i <= 3; ++i) {
    LockRecord lock = i == 3 ? held() : LockRecord{};
    lock.name = name;
    listings.push_back({member(i), {.locks = {{name, lock, {}}}, .pings = {}, .now = file_now()}});
  }
  listings[0].listing.locks.push_back({name, {}, "it is odd", false});
  const Listing all = merged(listings, kMajorityOfThree);
  REQUIRE(all.locks.size() == 2);
  CHECK_FALSE(all.locks[0].record->taken());
  CHECK_FALSE(all.locks[1].named);
}

// As the original and MongoDB's own lock manager claim.
TEST_CASE("a hold without a fence is that of each member that has lost none",
          "[mirrored][M3][M6]") {
  std::vector<Inspection> looks;
  for (int i = 1; i <= 3; ++i) {
    looks.push_back({.lock = held(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
    looks.back().fence_of_lost = i == 3 ? 5 : 0;
  }
  CHECK(merged(looks, kMajorityOfThree).lock->members == std::vector<Token>{member(1), member(2)});
}

TEST_CASE("a look at a mirrored store gives the time of the member that it shows",
          "[mirrored][M4][M8]") {
  std::vector<Inspection> looks;
  for (int i = 1; i <= 3; ++i) {
    looks.push_back({.lock = held(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
    looks.back().now->time += i * 5h;
  }
  looks[0].lock.reset();
  const Inspection all = merged(looks, kMajorityOfThree);
  CHECK(all.lock->members == std::vector<Token>{member(2), member(3)});
  CHECK(all.now->clock == to_hex(member(2)) + " boot/+0ns");
  CHECK(all.now->time == looks[1].now->time);
}

// The third one is away. The first has missed the takeover.
TEST_CASE("of two holds that as many members carry a look shows the one with the greater fence",
          "[mirrored][M8]") {
  const bool first_is_later = GENERATE(false, true);
  const std::uint8_t later_ts = GENERATE(as<std::uint8_t>(), 1, 9);
  std::vector<Inspection> looks;
  for (int i = 1; i <= 2; ++i) {
    const bool later = (i == 1) == first_is_later;
    looks.push_back({.lock = held(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
    looks.back().lock->ts = Token{{later ? later_ts : std::uint8_t{5}}};
    looks.back().lock->fence = later ? 7 : 3;
  }
  CHECK(merged(looks, kMajorityOfThree).lock->fence == 7);
  std::vector<MemberListing> listings;
  for (const Inspection& look : looks) {
    listings.push_back(
        {look.member, {.locks = {{"jobs", look.lock, {}}}, .pings = {}, .now = file_now()}});
  }
  CHECK(merged(listings, kMajorityOfThree).locks.front().record->fence == 7);
}

TEST_CASE("a look shows a lock as free where a majority of the members has it free",
          "[mirrored][M8]") {
  std::vector<Inspection> looks;
  for (int i = 1; i <= 3; ++i) {
    looks.push_back({.lock = held(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
    if (i != 2) looks.back().lock->state = LockState::free;
  }
  const Inspection all = merged(looks, kMajorityOfThree);
  CHECK_FALSE(all.lock->taken());
  CHECK(all.lock->members == std::vector<Token>{member(1), member(3)});
}

TEST_CASE("a look shows no lock where a majority of the members has no document",
          "[mirrored][M8]") {
  const auto state = GENERATE(LockState::free, LockState::taken);
  std::vector<Inspection> looks;
  for (int i = 1; i <= 3; ++i) {
    looks.push_back({.lock = held(), .ping = ping_from_beside(), .now = file_now(), .fresh = true});
    looks.back().member = member(i);
    looks.back().lock->state = state;
  }
  looks[0].lock.reset();
  CHECK(merged(looks, kMajorityOfThree).lock);
  looks[1].lock.reset();
  CHECK_FALSE(merged(looks, kMajorityOfThree).lock);
  CHECK_FALSE(merged(looks, kMajorityOfThree).ping);
}
