// Events between two steps of a call that takes a place in line.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_line.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a lock that comes free while a place is taken is on the disk before it is granted",
          "[sqlite][line][R8]") {
  int holds = 0;
  // Freed at one reading of the clock after the other, and so between any two steps of the request.
  for (int freed_at = 1; freed_at <= 7; ++freed_at) {
    CAPTURE(freed_at);
    const TemporaryFolder folder;
    const auto path = folder.path() / "locks.db";
    const auto store = open_at(path);
    const auto others = open_at(path, {.call_limit = 50ms});
    const LockRecord lock = held(*store, "jobs");
    const Claim claim = claim_by(*store, "next");
    const int begun = syncs();
    int readings = 0;
    const AtClockReading frees(CLOCK_BOOTTIME, AtClockReading::When::before, [&] {
      if (++readings != freed_at) return;
      error_of([&] { others->line()->release_and_tell("jobs", *lock.ts, ReleaseRule::quick); });
    });
    const Standing standing = store->line()->stand("jobs", claim);
    if (!standing.hold) continue;
    ++holds;
    CHECK(syncs() > begun);
  }
  CHECK(holds > 3);
}

TEST_CASE("a claim beside a line goes by the time when its own transaction has begun",
          "[sqlite][line][R8]") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "locks.db").string();
  const auto store = open_at(path);
  REQUIRE(store->release("jobs", *held(*store, "jobs").ts) == ReleaseResult::freed);
  SqliteBell bell(path);
  const SqliteWitness witness(path, boot_clock().boot, WitnessRule::none);
  SqliteConnection connection(ConnectionString("sqlite:" + path), StoreOptions{});
  SqliteLists lists(connection, witness);
  SqliteLine line(connection, bell, witness, lists);
  const Claim claim = claim_by(*store, "late");
  const BootTimeAhead ahead;
  const auto lock = connection.write_durably(SqliteConnection::Access::write, [&] {
    // As the statement before it did. Then it waits for another writer.
    connection.write_time();
    ahead.add(2min);
    return line.claim_beside("jobs", FromFree{}, claim);
  });
  CHECK_FALSE(lock);
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->taken());
}

TEST_CASE("a ring right after a place was written is heard", "[sqlite][line][R19]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path);
  const auto others = open_at(path);
  const LockRecord lock = held(*others, "jobs");
  std::atomic<bool> heard = false;
  const auto listening = store->line()->listen("waiter", [&](std::string_view) { heard = true; });
  const Claim claim = claim_by(*store, "waiter");
  SqliteFile writer(path.string());
  writer.execute("BEGIN IMMEDIATE");
  constexpr int kWaits = 30;
  int readings = 0;
  const AtClockReading ends(CLOCK_BOOTTIME, AtClockReading::When::before, [&] {
    if (++readings == kWaits) writer.execute("COMMIT");
  });
  // A store that has met a writer makes the gate, once its own write is done.
  bool released = false;
  const AtNaming gate([&] {
    const auto error = error_of([&] {
      others->line()->release_and_tell("jobs", *lock.ts, ReleaseRule::quick);
      others->line()->ring("jobs", {"waiter"});
    });
    released = !error;
  });
  CHECK(store->line()->stand("jobs", claim).in_line);
  REQUIRE(released);
  CHECK(comes([&] { return heard.load(); }));
}
