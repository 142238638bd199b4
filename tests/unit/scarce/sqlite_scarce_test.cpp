// Where a SQLite store gets no memory.
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "distlock/error.h"
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
