// Where a SQLite store gets no memory.
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "protocol/store_clock_history.h"
#include "stores/sqlite/sqlite_bell.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_deaths.h"
#include "stores/sqlite/sqlite_syncs.h"
#include "support/temporary_folder.h"
#include "unit/scarce/scarcity.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a wait for a SQLite lock that gets no memory goes on, and hears of ends and rings later",
          "[scarce][line][R19][R23]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "locks.db").string();
  for (const char* ending : {"", "-wal"}) std::ofstream(database + ending).close();
  SqliteWitness witness(database, "boot/", WitnessRule::children);
  SqliteDeaths deaths(witness);
  SqliteBell bell(database, 1ms);
  std::atomic<bool> heard{false};
  const auto listen = [&](std::string_view) { heard = true; };
  const std::string name = "a name that no short string holds";
  const auto starved = [&](const char* thread, const auto& action) {
    const NoMemoryFor listener(thread);
    action();
    CHECK(comes_true([] { return NoMemoryFor::refusals() > 0; }));
  };
  SECTION("of an end") {
    const auto ear = deaths.listen(listen);
    deaths.attend(Token{}, name, witness.statement_of("holder").value_or(""));
    starved("LockDeaths", [&] { witness.give_up("holder"); });
    CHECK(comes_true([&] { return heard.load(); }));
  }
  SECTION("of a ring") {
    const auto ear = bell.listen("waiter", listen);
    bell.attend("waiter", Token{}, name);
    starved("LockBell", [&] { bell.ring(name, {"waiter"}); });
    CHECK(comes_true([&] { return heard.load(); }));
  }
}

TEST_CASE("a sync that gets no memory holds up no later one", "[scarce][sqlite]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "a name that no short string holds.db").string();
  std::ofstream(database + "-wal").close();
  SqliteSyncs syncs(database);
  REQUIRE(ends_without_memory([&] {
    try {
      syncs.cover(syncs.committed(), since_boot() + 1min);
    } catch (const Error&) {
    }
  }));
  const auto give_up_at = since_boot() + 1min;
  CHECK_THROWS_AS(syncs.cover(syncs.committed(), give_up_at), Error);
  CHECK(since_boot() < give_up_at);
}

// The name of the store's clock is longer than a string without memory of its own.
TEST_CASE("a claim after a ping that got no memory is held, or an error",
          "[scarce][sqlite][R8][R12]") {
  const TemporaryFolder folder;
  const auto store =
      open_store(ConnectionString("sqlite:" + (folder.path() / "locks.db").string()));
  at_each_want_of_memory([&](const auto& starved) {
    const auto pinger = std::make_shared<DistributedLockPinger>(
        Environment{.store = store}, PingerOptions{}, PingerDrive::caller);
    starved([&] { pinger->ping_round(); });
    DistributedLock lock(pinger, "jobs");
    CHECK(lock.try_lock_for(1s));
    CHECK(lock.unlock() == UnlockResult::released);
  });
}

TEST_CASE("a reading of a store's clock counts as a whole or not at all", "[scarce][R8]") {
  const std::string before = "the clock of a store before it failed over";
  const std::string after = "the clock of the store that is there by now";
  at_each_want_of_memory([&](const auto& starved) {
    StoreClockHistory history(1s);
    history.note({StoreTime{1h}, before}, {SteadyTime{1s}, SteadyTime{1s}});
    const StoreNow next{StoreTime{5h}, after};
    starved([&] { history.note(next, {SteadyTime{2s}, SteadyTime{2s}}); });
    const auto now = history.at_most(SteadyTime{3s});
    REQUIRE(now);
    CHECK(now->time == (now->clock == before ? StoreTime{1h + 2s} : StoreTime{5h + 1s}));
  });
}
