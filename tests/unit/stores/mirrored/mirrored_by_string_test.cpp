// Mirrored stores that a connection string names.
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "stores/mirrored/opening_member.h"
#include "support/mirror_fleet.h"
#include "support/temporary_folder.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a connection string names a mirrored store of SQLite files", "[mirrored][M1]") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const ConnectionString connection("mirrored+sqlite:" + path + "/a," + path + "/b\\,b," + path +
                                    "/c?synchronous=off");
  const auto store = open_store(connection, {.call_limit = 40s});
  CHECK(store->call_limit() == 40s);
  // Otherwise the ping thread may found the set, and the lock come before the last member is in it.
  static_cast<void>(store->list());
  const auto pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = store}, PingerOptions{});
  DistributedLock lock(pinger, "jobs");
  REQUIRE(lock.lock_try("x"));
  for (const char* const file : {"/a", "/b,b", "/c"}) {
    const auto member = open_store(ConnectionString("sqlite:" + path + file));
    CHECK(member->inspect("jobs", Freshness::fresh).lock->taken());
  }
  CHECK(store->list().locks.at(0).record->members.size() == 3);
}

TEST_CASE("the string of a set's founder says the longest window", "[mirrored][M6]") {
  const TemporaryFolder folder;
  const std::string in = folder.path().string();
  const std::string files = "mirrored+sqlite:" + in + "/a," + in + "/b," + in + "/c";
  const auto window_of = [](const std::string& text, std::chrono::milliseconds window) {
    LockOptions options;
    options.takeover_after = window;
    return thrown_by([&] {
      DistributedLock lock(ConnectionString(text), "jobs", options);
      return lock.lock_try("x");
    });
  };
  // The set is there once it is founded, and keeps what it has: two hours.
  CHECK_FALSE(window_of(files + "?longestTakeoverMS=7200000", 2h));
  CHECK_FALSE(window_of(files, 2h));
  CHECK(window_of(files + "?longestTakeoverMS=90000000", 3h) == Errc::invalid_argument);
}

TEST_CASE("members of a mirrored store keep no witness where the store was told to keep none",
          "[mirrored][R23]") {
  const TemporaryFolder folder;
  const std::string in = folder.path().string();
  const auto store =
      open_store(ConnectionString("mirrored+sqlite:" + in + "/a," + in + "/b," + in + "/c"),
                 {.witness = WitnessRule::none});
  static_cast<void>(store->list());
  const auto pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = store}, PingerOptions{});
  DistributedLock lock(pinger, "jobs");
  REQUIRE(lock.lock_try("x"));
  for (const char* const file : {"/a", "/b", "/c"}) {
    CHECK(std::filesystem::exists(in + file));
    CHECK_FALSE(std::filesystem::exists(in + file + "-witness"));
  }
}
