// A SQLite file of ours with triggers in it, which take writes away in silence.
#include <string>

#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

struct FileWithTriggers {
  // From now on such writes do nothing.
  void take_away(const std::string& what, const std::string& table) {
    file.execute("CREATE TRIGGER t BEFORE " + what + " ON " + table +
                 " BEGIN SELECT RAISE(IGNORE); END");
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "locks.db";
  std::shared_ptr<Store> store = open_at(path);
  SqliteFile file{path.string()};
};

}  // namespace

TEST_CASE("a release that a trigger takes away is an error, and ends", "[sqlite][R3][R14]") {
  FileWithTriggers scene;
  const LockRecord lock = held(*scene.store, "jobs");
  scene.take_away("UPDATE", "locks");
  const auto rule = GENERATE(ReleaseRule::quick, ReleaseRule::durable);
  const auto error =
      error_of([&] { scene.store->line()->release_and_tell("jobs", *lock.ts, rule); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK_THAT(error->what(), Catch::Contains("release") && Catch::Contains("trigger"));
  CHECK(scene.store->inspect("jobs", Freshness::fresh).lock->taken());
  CHECK_NOTHROW(scene.store->ping("holder"));
}

TEST_CASE("a wait whose claim a trigger takes away is an error, and ends", "[sqlite][R14][R17]") {
  FileWithTriggers scene;
  const bool first = GENERATE(true, false);
  if (!first) {
    const LockRecord lock = held(*scene.store, "jobs");
    REQUIRE(scene.store->release("jobs", *lock.ts) == ReleaseResult::freed);
  }
  scene.take_away(first ? "INSERT" : "UPDATE", "locks");
  const auto error =
      error_of([&] { scene.store->line()->stand("jobs", claim_by(*scene.store, "next")); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK_THAT(error->what(), Catch::Contains("trigger"));
}

TEST_CASE("a place in line that a trigger takes away is an error", "[sqlite][line][R14][R17]") {
  FileWithTriggers scene;
  held(*scene.store, "jobs");
  scene.take_away("INSERT", "waiters");
  const auto error =
      error_of([&] { scene.store->line()->stand("jobs", claim_by(*scene.store, "next")); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK_THAT(error->what(), Catch::Contains("trigger"));
}

TEST_CASE("a claim that an operator's unique index keeps out is an error", "[sqlite][R2][R14]") {
  FileWithTriggers scene;
  held(*scene.store, "jobs");
  scene.file.execute("CREATE UNIQUE INDEX u ON locks(state)");
  const auto claim = claim_by(*scene.store, "next");
  const auto error = error_of([&] { scene.store->claim("other", FromAbsent{}, claim); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK(error_of([&] { scene.store->line()->stand("other", claim); })->errc() == Errc::not_applied);
}

TEST_CASE("a claim that a trigger fails after it was written is unknown", "[sqlite][R8]") {
  FileWithTriggers scene;
  scene.file.execute(
      "CREATE TRIGGER t AFTER INSERT ON locks BEGIN SELECT RAISE(FAIL, '\x1b[2J'); END");
  const auto error =
      error_of([&] { scene.store->claim("jobs", FromAbsent{}, claim_by(*scene.store, "next")); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::outcome_unknown);
  CHECK_THAT(error->what(), Catch::Contains("\\x1b[2J") && !Catch::Contains("\x1b"));
}

TEST_CASE("a ping that a trigger takes away is not confirmed", "[sqlite][R12][R14]") {
  FileWithTriggers scene;
  scene.take_away("INSERT", "lockpings");
  const auto error = error_of([&] { scene.store->ping("holder"); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK_THAT(error->what(), Catch::Contains("ping") && Catch::Contains("trigger"));
}

TEST_CASE("a claim of a free lock that a trigger fails after it was written is unknown",
          "[sqlite][R8]") {
  FileWithTriggers scene;
  const LockRecord lock = held(*scene.store, "jobs");
  REQUIRE(scene.store->release("jobs", *lock.ts) == ReleaseResult::freed);
  const Claim claim = claim_by(*scene.store, "next");
  scene.file.execute("CREATE TRIGGER t AFTER UPDATE ON locks BEGIN SELECT RAISE(FAIL, 'x'); END");
  const auto error = error_of([&] { scene.store->claim("jobs", FromFree{lock.ts}, claim); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::outcome_unknown);
}

TEST_CASE("a release that a trigger fails after it was written is unknown", "[sqlite][R3][R8]") {
  FileWithTriggers scene;
  const LockRecord lock = held(*scene.store, "jobs");
  scene.file.execute("CREATE TRIGGER t AFTER UPDATE ON locks BEGIN SELECT RAISE(FAIL, 'x'); END");
  const auto rule = GENERATE(ReleaseRule::quick, ReleaseRule::durable);
  const auto error =
      error_of([&] { scene.store->line()->release_and_tell("jobs", *lock.ts, rule); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::outcome_unknown);
}

TEST_CASE("a wait waits for the disk also where a trigger has failed its claim that stands",
          "[sqlite][line][R8][R17]") {
  FileWithTriggers scene;
  const Claim claim = claim_by(*scene.store, "next");
  const auto stand = [&] { return scene.store->line()->stand("jobs", claim); };
  const LockRecord lock = held(*scene.store, "jobs");
  REQUIRE(scene.store->release("jobs", *lock.ts) == ReleaseResult::freed);
  scene.file.execute("CREATE TRIGGER t AFTER UPDATE ON locks BEGIN SELECT RAISE(FAIL, 'so'); END");
  REQUIRE(error_of([&] { stand(); }));
  const int begun = syncs();
  CHECK(stand().hold);
  CHECK(syncs() > begun);
}
