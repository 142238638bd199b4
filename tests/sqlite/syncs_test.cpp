// Writes and the disk: threads that share a sync, and syncs that fail or hang.
#include <functional>
#include <memory>
#include <vector>

#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/synced_file.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_syncs.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A thread that claims a lock of its own.
struct ClaimingThread : CallingThread {
  ClaimingThread(Store& store, std::string name)
      : CallingThread([&store, name = std::move(name)] {
          store.claim(name, FromAbsent{}, claim_by(store, "holder"));
        }) {}
};

std::function<void()> cover(SqliteSyncs& syncs, std::uint64_t number,
                            std::chrono::milliseconds limit) {
  return [&syncs, number, limit] { syncs.cover(number, since_boot() + limit); };
}

// Each write that is confirmed by the disk, on documents of its own.
std::vector<std::function<void(Store&)>> durable_writes() {
  return {
      [](Store& store) { store.claim("mail", FromAbsent{}, claim_by(store, "another")); },
      [](Store& store) { store.claim("free", FromFree{}, claim_by(store, "another")); },
      [](Store& store) {
        const auto lock = store.inspect("jobs", Freshness::fresh).lock;
        store.claim("jobs", FromHold{.ts = *lock->ts, .when = {}}, claim_by(store, "another"));
      },
      [](Store& store) {
        store.release("jobs", *store.inspect("jobs", Freshness::fresh).lock->ts);
      },
      [](Store& store) { store.line()->stand("mail", claim_by(store, "another")); },
      [](Store& store) { store.ping("holder"); },
      [](Store& store) { store.remove_ping("holder"); },
  };
}

}  // namespace

TEST_CASE("threads that claim while the disk is busy share the next sync, and none returns before",
          "[sqlite][R8][cost]") {
  const SyncedFile file{.call_limit = 10min};
  held(*file.store, "first of all");
  const int begun = syncs();
  HeldSyncs held;
  ClaimingThread first(*file.store, "first");
  REQUIRE(comes([&] { return held.begun() == 1; }));
  ClaimingThread second(*file.store, "second");
  ClaimingThread third(*file.store, "third");
  ClaimingThread fourth(*file.store, "fourth");
  for (const char* const name : {"second", "third", "fourth"}) CHECK(file.comes_to_show(name));
  CHECK_FALSE(first.has_returned());
  // All that shows has been committed. The next call of the connection comes once that is noted.
  (void)file.store->list();

  held.let_one_go();
  CHECK_FALSE(first.error());
  REQUIRE(comes([&] { return held.begun() == 2; }));
  CHECK_FALSE(second.has_returned());
  CHECK_FALSE(third.has_returned());
  CHECK_FALSE(fourth.has_returned());
  held.let_one_go();
  for (ClaimingThread* const claimer : {&second, &third, &fourth}) CHECK_FALSE(claimer->error());
  CHECK(syncs() - begun == 2);
}

TEST_CASE("the first durable write syncs the folder of the log, too", "[sqlite][R8]") {
  const SyncedFile file;
  const int begun = folder_syncs();
  held(*file.store, "jobs");
  CHECK(folder_syncs() == begun + 1);
  held(*file.store, "mail");
  CHECK(folder_syncs() == begun + 1);
}

TEST_CASE("a folder whose sync failed is synced by the next durable write", "[sqlite][R8]") {
  const SyncedFile file;
  const int begun = folder_syncs();
  const FailingSyncs failing(1);
  CHECK(error_of([&] { held(*file.store, "jobs"); })->errc() == Errc::outcome_unknown);
  CHECK(folder_syncs() == begun + 1);
  held(*file.store, "mail");
  CHECK(folder_syncs() == begun + 2);
}

TEST_CASE("a write whose sync failed has an unknown outcome", "[sqlite][R8]") {
  for (const auto& write : durable_writes()) {
    const SyncedFile file;
    held(*file.store, "jobs");
    REQUIRE(file.store->release("free", *held(*file.store, "free").ts) == ReleaseResult::freed);
    file.store->ping("holder");
    const FailingSyncs failing;
    const auto error = error_of([&] { write(*file.store); });
    REQUIRE(error);
    CHECK(error->errc() == Errc::outcome_unknown);
    CHECK_THAT(error->what(), Catch::Contains("may not be on the disk"));
  }
}

TEST_CASE("after a failed sync nothing is confirmed until the whole log is in the database",
          "[sqlite][R8]") {
  const SyncedFile file;
  const LockRecord lock = held(*file.store, "jobs");
  std::optional<FailingSyncs> failing(std::in_place);
  CHECK(error_of([&] { held(*file.store, "mail"); })->errc() == Errc::outcome_unknown);
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { file.store->inspect("mail", Freshness::fresh); },
           [&] { file.store->holds("holder"); }, [&] { file.store->carried("mail"); },
           [&] { file.store->ping("holder"); }, [&] { held(*file.store, "other"); }}) {
    const auto error = error_of(call);
    REQUIRE(error);
    CHECK(error->errc() == Errc::not_applied);
    CHECK_THAT(error->what(), Catch::Contains("look at the disk"));
  }
  CHECK_FALSE(file.shows("other"));
  const auto release = [&] {
    return file.store->line()->release_and_tell("jobs", *lock.ts, ReleaseRule::quick).result;
  };
  CHECK(release() == ReleaseResult::freed);

  failing.reset();
  const int begun = syncs();
  CHECK(file.store->inspect("mail", Freshness::fresh).lock->taken());
  CHECK(syncs() > begun);
  CHECK(std::filesystem::file_size(file.path.string() + "-wal") == 0);
  held(*file.store, "other");
}

TEST_CASE("a sync after a failed one confirms nobody who waited for that", "[sqlite][R8]") {
  const SyncedFile file;
  held(*file.store, "first of all");
  HeldSyncs held;
  const FailingSyncs failing(1);
  ClaimingThread first(*file.store, "first");
  REQUIRE(comes([&] { return held.begun() == 1; }));
  ClaimingThread second(*file.store, "second");
  REQUIRE(file.comes_to_show("second"));
  held.let_one_go();
  held.let_one_go();
  CHECK(first.error()->errc() == Errc::outcome_unknown);
  const auto error = second.error();
  REQUIRE(error);
  CHECK(error->errc() == Errc::outcome_unknown);
}

TEST_CASE("a write waits for another thread's sync for no longer than its limit, and is unknown",
          "[sqlite][R8]") {
  const SyncedFile file{.call_limit = 200ms};
  held(*file.store, "first of all");
  HeldSyncs held;
  ClaimingThread first(*file.store, "first");
  REQUIRE(comes([&] { return held.begun() == 1; }));
  ClaimingThread second(*file.store, "second");
  const auto error = second.error();
  REQUIRE(error);
  CHECK(error->errc() == Errc::outcome_unknown);
  CHECK_FALSE(first.has_returned());

  const auto look = [&] { file.store->inspect("second", Freshness::fresh); };
  const auto too_early = CallingThread(look).error();
  REQUIRE(too_early);
  CHECK(too_early->errc() == Errc::not_applied);
}

TEST_CASE("a look waits for a sync of what a thread wrote that did not wait for it",
          "[sqlite][R8]") {
  const SyncedFile file{.call_limit = 200ms};
  held(*file.store, "first of all");
  const Claim another = claim_by(*file.store, "another");
  HeldSyncs held;
  ClaimingThread first(*file.store, "first");
  REQUIRE(comes([&] { return held.begun() == 1; }));
  ClaimingThread second(*file.store, "second");
  REQUIRE(second.error());
  const std::function<void()> look = GENERATE_REF(
      std::function<void()>([&] { file.store->inspect("second", Freshness::ordinary); }),
      std::function<void()>([&] { file.store->claim("second", FromAbsent{}, another); }),
      std::function<void()>([&] { file.store->release("second", another.ts); }));
  const auto too_early = CallingThread(look).error();
  REQUIRE(too_early);
  CHECK(too_early->errc() == Errc::not_applied);
  HeldSyncs::let_all_go();
  CHECK_FALSE(first.error());

  const int begun = syncs();
  CHECK_FALSE(error_of(look));
  CHECK(syncs() == begun + 1);
  CHECK_FALSE(error_of(look));
  CHECK(syncs() == begun + 1);
}

TEST_CASE("a fresh look waits for the disk also where a trigger has failed a claim that stands",
          "[sqlite][R8]") {
  const SyncedFile file;
  const Claim claim = claim_by(*file.store, "holder");
  SqliteFile(file.path.string())
      .execute("CREATE TRIGGER stands AFTER INSERT ON locks BEGIN SELECT RAISE(FAIL, 'so'); END");
  REQUIRE(error_of([&] { file.store->claim("jobs", FromAbsent{}, claim); }));
  REQUIRE(file.shows("jobs"));
  const FailingSyncs failing(1);
  const auto error = error_of([&] { file.store->inspect("jobs", Freshness::fresh); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
}

// The claimer's own thread hangs in the sync. A member of a mirrored store is asked by others then.
TEST_CASE("a fresh look shows no claim that the disk does not have yet", "[sqlite][R8][M3]") {
  const SyncedFile file{.call_limit = 200ms};
  Store& store = *file.store;
  held(store, "other");
  const bool freed = GENERATE(false, true);
  if (freed) store.release("jobs", *held(store, "jobs").ts);
  const ClaimBasis basis = freed ? ClaimBasis{FromFree{}} : ClaimBasis{FromAbsent{}};
  const bool in_line = GENERATE(false, true);
  const Claim claim = claim_by(store, "holder");
  HeldSyncs held;
  CallingThread first([&] {
    if (in_line) {
      store.line()->stand("jobs", claim);
    } else {
      store.claim("jobs", basis, claim);
    }
  });
  REQUIRE(comes([&] { return held.begun() == 1; }));
  const auto look = [&](const char* name, Freshness freshness) {
    return [&store, name, freshness] { store.inspect(name, freshness); };
  };
  CHECK_FALSE(error_of(look("jobs", Freshness::ordinary)));
  CHECK_FALSE(error_of(look("other", Freshness::fresh)));
  const auto error = error_of(look("jobs", Freshness::fresh));
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  HeldSyncs::let_all_go();
  CHECK_FALSE(first.error());
  CHECK_FALSE(error_of(look("jobs", Freshness::fresh)));
}

TEST_CASE("a thread that waits no longer for a sync fails no other thread", "[sqlite][R8][R9]") {
  const SyncedFile file;
  SqliteSyncs syncs(file.path.string());
  HeldSyncs held;
  CallingThread first(cover(syncs, syncs.committed(), 1min));
  REQUIRE(comes([&] { return held.begun() == 1; }));
  CHECK(error_of(cover(syncs, syncs.committed(), 0min)));
  CallingThread later(cover(syncs, syncs.committed(), 1min));
  HeldSyncs::let_all_go();
  CHECK_FALSE(first.error());
  CHECK_FALSE(later.error());
}

TEST_CASE("a sync that failed in another process after the opening confirms nothing",
          "[sqlite][R8]") {
  const SyncedFile file;
  const FailedElsewhere before;
  const auto error = error_of([&] { held(*file.store, "jobs"); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::outcome_unknown);
}

TEST_CASE("of the commits whose threads waited no longer for a sync the latest is owed",
          "[sqlite][R8]") {
  const SyncedFile file;
  SqliteSyncs syncs(file.path.string());
  HeldSyncs held;
  CallingThread first(cover(syncs, syncs.committed(), 1min));
  REQUIRE(comes([&] { return held.begun() == 1; }));
  const std::uint64_t second = syncs.committed();
  const std::uint64_t third = syncs.committed();
  CHECK(error_of(cover(syncs, third, 0min)));
  CHECK(error_of(cover(syncs, second, 0min)));
  CHECK(syncs.owed().value_or(0) == third);
}

TEST_CASE("a look moves a log in doubt, whatever sync is owed", "[sqlite][R8]") {
  const SyncedFile file{.call_limit = 200ms};
  held(*file.store, "first of all");
  HeldSyncs held;
  ClaimingThread first(*file.store, "first");
  REQUIRE(comes([&] { return held.begun() == 1; }));
  ClaimingThread second(*file.store, "second");
  REQUIRE(second.error());
  const FailingSyncs failing(1);
  HeldSyncs::let_all_go();
  REQUIRE(first.error());
  CHECK_FALSE(error_of([&] { file.store->inspect("second", Freshness::ordinary); }));
}
