// A SQLite file of ours with triggers in it, which take writes away in silence.
#include <string>

#include "distlock/line.h"
#include "sqlite/file_under_fault.h"

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

TEST_CASE("a ping that a trigger takes away is not confirmed", "[sqlite][R12][R14]") {
  FileWithTriggers scene;
  scene.take_away("INSERT", "lockpings");
  const auto error = error_of([&] { scene.store->ping("holder"); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK_THAT(error->what(), Catch::Contains("ping") && Catch::Contains("trigger"));
}
