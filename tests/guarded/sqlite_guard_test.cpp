#include "sqlite_guard.h"

#include <catch2/catch.hpp>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "guarded/stopped_holders.h"
#include "support/crowd.h"
#include "support/temporary_folder.h"

namespace distlock::testing {
namespace {

/// A file with locks and data, and a process with a lock there.
struct SqliteScene {
  TemporaryFolder folder;
  std::string path = folder.path() / "locks.db";
  std::shared_ptr<Store> store = open_store(ConnectionString("sqlite:" + path));
  std::shared_ptr<DistributedLockPinger> pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock lock{pinger, "balancer"};
  guarded::Database db = guarded::open_resources(path);

  Scene workers() const { return {SQLITE_WORKER, "sqlite:" + path, path}; }
  void execute(const char* sql) const {
    REQUIRE(sqlite3_exec(db.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
};

TEST_CASE("data beside the locks: a holder stopped beyond its lease is refused, 100 of 100",
          "[guarded][R10]") {
  const SqliteScene scene;
  CHECK(stop_holders(scene.workers(), true, 100).refused == 100);
}

TEST_CASE("data beside the locks: without the guard such a holder corrupts it", "[guarded][R10]") {
  const SqliteScene scene;
  CHECK(stop_holders(scene.workers(), false, 20).corrupted == 20);
}

TEST_CASE("data beside the locks: a paused thread is refused once another gave its lock up",
          "[guarded][R10][R21]") {
  const SqliteScene scene;
  PassingScene threads({patient_options(), patient_options()}, false, scene.store);
  const LockRecord paused = threads.first->hold();
  REQUIRE(threads.first->lock->unlock() == UnlockResult::released);
  const LockRecord next = threads.second().hold();
  CHECK(guarded::write_value(scene.db.get(), next, "r", 1) == guarded::Outcome::written);
  CHECK(guarded::write_value(scene.db.get(), paused, "r", 2) == guarded::Outcome::refused);
  CHECK(guarded::read_value(scene.db.get(), "r") == 1);
}

TEST_CASE("data beside the locks: a thread that got the hold passed on may write",
          "[guarded][R21]") {
  const SqliteScene scene;
  PassingScene threads({patient_options(), patient_options()}, false, scene.store);
  threads.first->give_up();
  const LockRecord next = threads.second().hold();
  REQUIRE(next.ts == threads.first->hold().ts);
  CHECK(guarded::write_value(scene.db.get(), next, "r", 1) == guarded::Outcome::written);
}

TEST_CASE("data beside the locks: only the hold that the lock has now may write",
          "[guarded][R10]") {
  SqliteScene scene;
  REQUIRE(scene.lock.lock_try("x"));
  const LockRecord hold = scene.lock.record();
  CHECK(guarded::write_value(scene.db.get(), hold, "r", 1) == guarded::Outcome::written);
  CHECK(guarded::write_value(scene.db.get(), hold, "r", 2) == guarded::Outcome::written);
  CHECK(guarded::read_value(scene.db.get(), "r") == 2);

  SECTION("not after its release") { scene.lock.unlock(); }
  SECTION("not after another claim") {
    scene.lock.unlock();
    REQUIRE(scene.lock.lock_try("y"));
  }
  SECTION("not once somebody has deleted the lock's row") { scene.execute("DELETE FROM locks"); }

  CHECK(guarded::write_value(scene.db.get(), hold, "r", 3) == guarded::Outcome::refused);
  CHECK(guarded::write_value(scene.db.get(), hold, "new", 3) == guarded::Outcome::refused);
  const auto change = [&] { scene.execute("UPDATE resources SET value = 3"); };
  CHECK(guarded::change_if_held(scene.db.get(), hold, change) == guarded::Outcome::refused);
  CHECK(guarded::read_value(scene.db.get(), "r") == 2);
}

TEST_CASE("data beside the locks: a change of several statements is made whole or not at all",
          "[guarded][R10]") {
  SqliteScene scene;
  REQUIRE(scene.lock.lock_try("x"));
  const LockRecord hold = scene.lock.record();
  const auto put = [&](const char* row) {
    scene.execute((std::string("INSERT INTO resources VALUES") + row).c_str());
  };
  CHECK(guarded::change_if_held(scene.db.get(), hold, [&] {
          put("('a', 1)");
          put("('b', 2)");
        }) == guarded::Outcome::written);
  CHECK_THROWS(guarded::change_if_held(scene.db.get(), hold, [&] {
    put("('c', 3)");
    throw std::runtime_error("changed its mind");
  }));
  CHECK(guarded::read_value(scene.db.get(), "b") == 2);
  CHECK(guarded::read_value(scene.db.get(), "c") == 0);
}

TEST_CASE("a raised SQLite fence is where the next claim goes on, and never falls",
          "[guarded][R10]") {
  SqliteScene scene;
  SECTION("of a lock whose row was deleted") {
    guarded::raise_fence(scene.db.get(), "balancer", 41);
  }
  SECTION("of a free lock") {
    REQUIRE(scene.lock.lock_try("x"));
    scene.lock.unlock();
    guarded::raise_fence(scene.db.get(), "balancer", 41);
    guarded::raise_fence(scene.db.get(), "balancer", 7);
  }
  SECTION("of a held lock, whose holder keeps its hold") {
    REQUIRE(scene.lock.lock_try("x"));
    guarded::raise_fence(scene.db.get(), "balancer", 41);
    CHECK(scene.lock.still_held());
    CHECK(scene.lock.unlock() == UnlockResult::released);
  }
  REQUIRE(scene.lock.lock_try("y"));
  CHECK(scene.lock.fence() == 42);
}

}  // namespace
}  // namespace distlock::testing
