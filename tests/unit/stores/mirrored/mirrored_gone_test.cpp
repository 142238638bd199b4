#include <catch2/catch.hpp>
#include <vector>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// A set that is gone under the processes that know it (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Ann has had a lock. The first call after a fault may be an error of its own.
struct Known {
  Known() {
    const auto lock = ann.lock("jobs");
    REQUIRE(lock->lock_try("x"));
    REQUIRE(lock->unlock() == UnlockResult::released);
  }

  void empty(const std::vector<std::size_t>& members) {
    for (const std::size_t i : members) fleet.empty(i);
    REQUIRE(error_of(ann) == Errc::not_applied);
  }
  /// Until the longest window has passed since the set was first seen to be gone.
  void wait_for_holds() {
    CHECK(error_of(ann) == Errc::not_applied);
    fleet.clock->advance(1h - 1ms);
    CHECK(error_of(ann) == Errc::not_applied);
    fleet.clock->advance(1ms);
    CHECK(error_of(ann) == Errc::store_replaced);
  }
  static std::optional<Errc> error_of(const MirrorProcess& process) {
    return thrown_by([&] { return process.store->inspect("jobs", Freshness::fresh); });
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
};

}  // namespace

TEST_CASE("a process whose whole set was emptied is told to open the store anew",
          "[mirrored][M6]") {
  Known known;
  known.empty({0, 1, 2});
  known.wait_for_holds();
  CHECK(Known::error_of(known.ann) == Errc::store_replaced);
  const auto lock = known.ann.lock("jobs");
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::store_replaced);
  CHECK(thrown_by([&] { lock->lock(); }) == Errc::store_replaced);

  const auto anew = known.fleet.process("anew");
  CHECK(anew.lock("jobs")->lock_try("y"));
  CHECK(Known::error_of(known.ann) == Errc::store_replaced);
  CHECK_THROWS_WITH(known.ann.store->members()->readmit(1), Catch::Contains("is gone"));
}

TEST_CASE("a process is told of another set in the place of the one that it knows",
          "[mirrored][M6]") {
  Known known;
  const auto held = known.ann.lock("jobs");
  REQUIRE(held->lock_try("x"));
  known.empty({0, 1, 2});
  const auto bob = known.fleet.process("bob");
  bob.pinger->ping_round();
  const bool one_is_away = GENERATE(false, true);
  known.ann.set_away(0, one_is_away);
  known.wait_for_holds();
  CHECK_FALSE(held->held());
  CHECK(Known::error_of(known.ann) == Errc::store_replaced);
}

TEST_CASE("a set is not called gone while a member of it may be left", "[mirrored][M6]") {
  Known known;
  const bool third_is_away = GENERATE(false, true);
  known.empty({0, 1});
  if (third_is_away) known.fleet.empty(2);
  known.ann.set_away(2, third_is_away);
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
  known.fleet.clock->advance(1h);
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
}

TEST_CASE("a set is not called gone while a majority of it is away", "[mirrored][M6]") {
  Known known;
  for (const std::size_t i : {0, 1}) known.ann.set_away(i, true);
  known.fleet.empty(2);
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
  for (const std::size_t i : {0, 1}) known.ann.set_away(i, false);
  CHECK_FALSE(Known::error_of(known.ann));
}

TEST_CASE("a set whose data came back counts again", "[mirrored][M6]") {
  Known known;
  std::vector<MemoryTables> before;
  for (const OpenedMemoryStore& one : known.fleet.stores) before.push_back(one.tables);
  known.empty({0, 1, 2});
  known.wait_for_holds();
  for (std::size_t i = 0; i < 3; ++i) known.fleet.stores[i].tables = before[i];
  CHECK(known.ann.lock("jobs")->lock_try("y"));
  known.empty({0, 1, 2});
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
}

TEST_CASE("nobody is told to open a store anew while a hold of its gone set may be valid",
          "[mirrored][M6][R1]") {
  Known known;
  const auto bob = known.fleet.process("bob");
  const auto held = bob.lock("jobs", {.takeover_after = 1h});
  REQUIRE(held->lock_try("x"));
  known.empty({0, 1, 2});
  for (std::chrono::milliseconds left = 1h; left > 0ms; left -= 1min) {
    CHECK(Known::error_of(known.ann) == Errc::not_applied);
    known.fleet.clock->advance(1min);
  }
  CHECK_FALSE(held->held());
  CHECK(Known::error_of(known.ann) == Errc::store_replaced);
}

TEST_CASE("emptied members become a new set at once, beside an old hold until its deadline",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto old = ann.lock("jobs");
  REQUIRE(old->lock_try("x"));
  for (std::size_t i = 0; i < 3; ++i) fleet.empty(i);
  const auto bob = fleet.process("bob");
  const auto lock = bob.lock("jobs");
  CHECK(lock->lock_try("y"));
  CHECK(lock->fence() == 1);
  CHECK(old->held());
  fleet.rounds({&ann, &bob}, 16min);
  CHECK_FALSE(old->held());
  CHECK(lock->held());
}

// A member is away for a moment now and then.
TEST_CASE("a look that misses a member does not begin the wait for a gone set anew",
          "[mirrored][M6]") {
  Known known;
  known.empty({0, 1, 2});
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
  known.fleet.clock->advance(59min);
  known.ann.set_away(2, true);
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
  known.ann.set_away(2, false);
  known.fleet.clock->advance(1min - 1ms);
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
  known.fleet.clock->advance(1ms);
  CHECK(Known::error_of(known.ann) == Errc::store_replaced);
}

// Those that are away may have their data again, and a hold may begin there.
TEST_CASE("a look that misses a majority begins the wait for a gone set anew", "[mirrored][M6]") {
  Known known;
  known.empty({0, 1, 2});
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
  known.fleet.clock->advance(59min);
  for (const std::size_t i : {1, 2}) known.ann.set_away(i, true);
  CHECK(Known::error_of(known.ann) == Errc::not_applied);
  for (const std::size_t i : {1, 2}) known.ann.set_away(i, false);
  known.fleet.clock->advance(1min);
  known.wait_for_holds();
}

TEST_CASE("a member whose store was replaced is one that is away", "[mirrored][M2]") {
  Known known;
  known.ann.members[1]->during_each_call(
      [](const std::string&) { throw Error(Errc::store_replaced, "another file is there"); });
  CHECK(known.ann.lock("jobs")->lock_try("x"));
  CHECK(thrown_by([&] { return known.ann.store->members()->readmit(1); }) == Errc::not_applied);
}
