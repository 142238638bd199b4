// Lines in a SQLite file as no distlock writes them, but well-formed (R14, R17).
#include <limits>

#include "distlock/line.h"
#include "sqlite/file_under_fault.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

constexpr const char* kYear9999 = "253402300799000";

struct HostileLine {
  // So many places, with these dates.
  void put(int places, const std::string& since, const std::string& passed) {
    file.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                 std::to_string(places) +
                 ") INSERT INTO waiters SELECT 'jobs', printf('%024x', i), i, 'nobody:1:1', "
                 "'nobody:1:1:1', " +
                 since + ", " + passed + " FROM n");
  }
  Standing stand() { return store->line()->stand("jobs", claim_by(*store, "late")); }
  std::size_t places() { return store->inspect("jobs", Freshness::fresh).lock->line.size(); }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "locks.db";
  std::shared_ptr<Store> store = open_at(path);
  LockRecord holder = held(*store, "jobs");
  SqliteFile file{path.string()};
};

}  // namespace

TEST_CASE("ten thousand places in a file take nobody in, and pass the lock on all the same",
          "[sqlite][line][R17]") {
  HostileLine scene;
  scene.put(10'000, "1", "NULL");
  const Standing full = scene.stand();
  CHECK_FALSE(full.hold);
  CHECK_FALSE(full.in_line);
  CHECK(scene.store->list().locks.at(0).record->line.size() == 10'000);
  const auto rule = ReleaseRule::durable;
  REQUIRE(scene.store->line()->release_and_tell("jobs", *scene.holder.ts, rule).result ==
          ReleaseResult::freed);
  // Freed so long ago that every place is open.
  scene.file.execute("UPDATE locks SET freed_at = 1");
  CHECK(scene.stand().hold);
  CHECK(scene.places() == 10'000);
}

TEST_CASE("dates of the year 9999 in the line of a file hold nobody up", "[sqlite][line][R17]") {
  HostileLine scene;
  scene.put(3, kYear9999, kYear9999);
  scene.store->release("jobs", *scene.holder.ts);
  scene.file.execute(std::string("UPDATE locks SET freed_at = ") + kYear9999);
  CHECK(scene.stand().hold);
  // So long passed over, by whatever clock, they stand no more.
  CHECK(scene.places() == 0);
}

TEST_CASE("two places with one number in the line of a file are two places",
          "[sqlite][line][R17]") {
  HostileLine scene;
  scene.put(2, "1", "NULL");
  scene.file.execute("UPDATE waiters SET number = 1");
  CHECK(scene.places() == 2);
  CHECK(scene.stand().in_line);
  CHECK(scene.places() == 3);
}

TEST_CASE("nobody comes behind a place of the last number, which goes on waiting",
          "[sqlite][line][R14][R17]") {
  HostileLine scene;
  REQUIRE(scene.stand().in_line);
  scene.file.execute("UPDATE waiters SET number = 9223372036854775806");
  const auto error =
      error_of([&] { scene.store->line()->stand("jobs", claim_by(*scene.store, "later")); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::bad_record);
  CHECK_THAT(error->what(), Catch::Contains("\"number\" in table \"waiters\""));
  CHECK(scene.places() == 1);
}

TEST_CASE("a release whose line cannot be read has freed the lock, and says so",
          "[sqlite][line][R3][R19]") {
  HostileLine scene;
  REQUIRE(scene.stand().in_line);
  // A look at a lock reads its holder's ping as well.
  scene.file.execute("DROP TABLE lockpings");
  const auto rule = GENERATE(ReleaseRule::quick, ReleaseRule::durable);
  const Freed freed = scene.store->line()->release_and_tell("jobs", *scene.holder.ts, rule);
  CHECK(freed.result == ReleaseResult::freed);
  CHECK(freed.next.empty());
  CHECK(scene.file.integer("SELECT state FROM locks") == 0);
}
