// Events between two steps of one call: at its syncs and its readings of clocks, which are counted.
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
namespace fs = std::filesystem;

namespace {

// The least number of syncs of each write: a claim, a ping, a release.
int least_syncs(Store& store) {
  const Claim claim = claim_by(store, "holder");
  const int begun = syncs();
  const LockRecord lock = claimed(store, "jobs", FromAbsent{}, claim);
  const int claimed = syncs();
  store.ping("holder");
  const int pinged = syncs();
  REQUIRE(store.release("jobs", *lock.ts) == ReleaseResult::freed);
  return std::min({claimed - begun, pinged - claimed, syncs() - pinged});
}

int entries_in(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("every write is on the disk before it is confirmed, unless the string says off",
          "[sqlite][R8][R10]") {
  const TemporaryFolder folder;
  CHECK(least_syncs(*open_with(folder, "")) >= 1);
  const TemporaryFolder another;
  const auto store = open_with(another, "?synchronous=off");
  store->ping("holder");  // Makes the witnesses' file, once.
  const int before = syncs();
  least_syncs(*store);
  CHECK(syncs() == before);
}

TEST_CASE("a look sees every ping that came before its time", "[sqlite][R4][R6]") {
  const TemporaryFolder folder;
  const auto store = open_with(folder, "");
  const auto holders = open_with(folder, "");
  held(*store, "jobs");
  PingRecord last = holders->ping("holder");
  const AtClockReading pings(CLOCK_BOOTTIME, AtClockReading::When::before, [&] {
    const StoreTime before = last.ping;
    while (last.ping <= before) last = holders->ping("holder");
  });
  const Inspection seen = store->inspect("jobs", Freshness::fresh);
  REQUIRE(seen.ping);
  CHECK(seen.ping->ping == last.ping);
  CHECK(seen.now->time >= seen.ping->ping);
}

TEST_CASE("a ping that came after a look's time is no ping of the future", "[sqlite][R4]") {
  const TemporaryFolder folder;
  const auto store = open_with(folder, "");
  const auto holders = open_with(folder, "");
  held(*store, "jobs");
  const StoreTime before = holders->ping("holder").ping;
  const AtClockReading pings(CLOCK_BOOTTIME, AtClockReading::When::after, [&] {
    const StoreTime read = holders->list().now.time;
    while (holders->ping("holder").ping <= read) {
    }
  });
  const Inspection seen = store->inspect("jobs", Freshness::fresh);
  REQUIRE(seen.ping);
  CHECK(seen.ping->ping > before);
  CHECK(seen.now->time >= seen.ping->ping);
}

TEST_CASE("two processes that open a file at once go by one epoch", "[sqlite][R4]") {
  const TemporaryFolder folder;
  open_with(folder, "");
  SqliteFile((folder.path() / "locks.db").string()).execute("DELETE FROM clocks");
  std::shared_ptr<Store> first;
  std::shared_ptr<Store> second;
  {
    const AtClockReading opens(CLOCK_REALTIME, AtClockReading::When::before, [&] {
      first = open_with(folder, "");
      // As if its wall clock had been an hour ahead.
      SqliteFile((folder.path() / "locks.db").string())
          .execute("UPDATE clocks SET epoch = epoch + 3600000");
      first = open_with(folder, "");
    });
    second = open_with(folder, "");
  }
  REQUIRE(first);
  const StoreTime earlier = first->list().now.time;
  CHECK(second->list().now.time >= earlier);
}

TEST_CASE(
    "processes that open a new file at once all find it whole, and leave the witnesses' alone "
    "beside "
    "it",
    "[sqlite]") {
  for (int round = 0; round < 20; ++round) {
    const TemporaryFolder folder;
    std::atomic<int> whole = 0;
    boost::thread_group threads;
    for (int i = 0; i < 8; ++i) {
      threads.create_thread([&] {
        const auto error = error_of([&] { open_with(folder, "")->ping("holder"); });
        if (!error) ++whole;
      });
    }
    threads.join_all();
    CHECK(whole == 8);
    CHECK(std::filesystem::remove(folder.path() / "locks.db-witness"));
    CHECK(entries_in(folder.path()) == 1);
  }
}

TEST_CASE("a listing shows locks and pings of one instant", "[sqlite][R7]") {
  const TemporaryFolder folder;
  const auto lister = open_with(folder, "?synchronous=off");
  const auto store = open_with(folder, "?synchronous=off");
  LockRecord lock = held(*store, "jobs");
  store->ping("holder");
  // It takes a while from this lock to the pings.
  SqliteFile((folder.path() / "locks.db").string())
      .execute(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
          "INSERT INTO locks(_id, state) SELECT 'lock' || i, 0 FROM n");
  Claim claim = claim_by(*store, "holder");
  std::atomic<bool> done = false;
  // Its ping is there for as long as it holds, and no longer.
  boost::thread holder([&] {
    while (!done) {
      store->release("jobs", *lock.ts);
      store->remove_ping("holder");
      store->ping("holder");
      claim.ts = new_token();
      lock = *store->claim("jobs", FromFree{lock.ts}, claim);
    }
  });
  int without = 0;
  for (int i = 0; i < 300; ++i) {
    const Listing listing = lister->list();
    if (listing.locks.at(0).record->taken() && listing.pings.empty()) ++without;
  }
  done = true;
  holder.join();
  CHECK(without == 0);
}

TEST_CASE("a list tells a time that is no earlier than any ping in it", "[sqlite][R4][R7]") {
  const TemporaryFolder folder;
  const auto store = open_with(folder, "");
  const auto holders = open_with(folder, "");
  held(*store, "jobs");
  StoreTime last = holders->ping("holder").ping;
  const AtClockReading pings(CLOCK_BOOTTIME, AtClockReading::When::after, [&] {
    const StoreTime read = holders->list().now.time;
    while (last <= read) last = holders->ping("holder").ping;
  });
  const Listing listing = store->list();
  REQUIRE(listing.pings.size() == 1);
  CHECK(listing.pings.front().record->ping <= listing.now.time);
}

TEST_CASE("the parts of a call share one limit", "[sqlite][R8]") {
  constexpr auto kLimit = 10s;
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path, {.call_limit = kLimit});
  const LockRecord lock = held(*store, "jobs");
  const Claim claim = claim_by(*store, "contender");
  std::function<void()> call = [&] { store->line()->stand("jobs", claim); };
  SECTION("a place") {}
  SECTION("a hold") { store->release("jobs", *lock.ts); }
  SECTION("a claim of a lock that was awaited") {
    REQUIRE(store->line()->stand("jobs", claim).in_line);
    store->release("jobs", *lock.ts);
    store->line()->leave("jobs", claim.ts);
    call = [&] { store->claim("jobs", FromFree{}, claim); };
  }
  SqliteFile writer(path.string());
  writer.execute("BEGIN IMMEDIATE");
  // The look takes nearly all the time that the call has, and then each look at the writer some.
  const BootTimeAhead ahead;
  int readings = 0;
  const AtClockReading passes(CLOCK_BOOTTIME, AtClockReading::When::before, [&] {
    ++readings;
    if (readings > 1) ahead.add(readings == 2 ? 9s : 50ms);
  });
  const auto error = error_of(call);
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK(ahead.all() <= kLimit + 1s);
}

TEST_CASE("a claim is made until its cutoff, that instant included", "[sqlite][R8]") {
  const TemporaryFolder folder;
  const auto store = open_with(folder, "?synchronous=off");
  REQUIRE(store->release("jobs", *held(*store, "jobs").ts) == ReleaseResult::freed);
  const bool absent = GENERATE(true, false);
  int at_the_cutoff = 0;
  for (int i = 0; i < 20000 && at_the_cutoff == 0; ++i) {
    Claim claim = claim_by(*store, "holder");
    const std::string name = absent ? "own" + std::to_string(i) : "jobs";
    const ClaimBasis basis = absent ? ClaimBasis{FromAbsent{}} : FromFree{};
    claim.cutoff = store->list().now;
    const auto lock = store->claim(name, basis, claim);
    if (!lock) continue;
    CHECK(lock->when <= claim.cutoff.time);
    if (lock->when == claim.cutoff.time) ++at_the_cutoff;
    store->release(name, *lock->ts);
  }
  CHECK(at_the_cutoff == 1);
}

TEST_CASE("a call waits for another writer, however long ago the file was opened",
          "[sqlite][R12]") {
  const TemporaryFolder folder;
  const auto store = open_with(folder, "");
  SqliteFile writer((folder.path() / "locks.db").string());
  writer.execute("BEGIN IMMEDIATE");
  const BootTimeAhead ahead;
  ahead.add(1h);
  constexpr int kWaits = 30;
  int readings = 0;
  const AtClockReading ends(CLOCK_BOOTTIME, AtClockReading::When::before, [&] {
    if (++readings == kWaits) writer.execute("COMMIT");
  });
  const auto error = error_of([&] { store->ping("holder"); });
  CHECK_FALSE(error);
  CHECK(readings >= kWaits);
}
