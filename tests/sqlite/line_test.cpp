// The lines of those who wait for locks in a SQLite file: files of earlier versions, malformed
// lines, and what waiting costs. The behaviour of lines is in tests/contract.
#include "distlock/line.h"

#include <atomic>
#include <boost/thread/thread.hpp>
#include <fstream>
#include <functional>
#include <vector>

#include "distlock/clock.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// As versions before the line make it.
constexpr const char* kSchemaWithoutLines = R"(
  PRAGMA journal_mode = wal;
  CREATE TABLE locks(_id NOT NULL PRIMARY KEY, state, process, who, "when", why, ts, fence,
                     takeover_after) WITHOUT ROWID;
  CREATE INDEX locks_process ON locks(process);
  CREATE TABLE lockpings(_id NOT NULL PRIMARY KEY, ping, clock, ping_successes, ping_failures,
                         ping_round_trip_ms, ping_late_by_ms) WITHOUT ROWID;
  CREATE INDEX lockpings_ping ON lockpings(ping);
  CREATE TABLE clocks(clock NOT NULL PRIMARY KEY, epoch) WITHOUT ROWID;
  PRAGMA application_id = 0x646c636b;
  PRAGMA user_version = 1;
)";
// As those versions claim and release, with the statements that they keep prepared.
constexpr const char* kOldClaim =
    "UPDATE locks SET state = 1, process = 'old', who = 'old:1:1', \"when\" = 1, why = 'old', "
    "ts = '4d7f000000000000000000aa', fence = coalesce(fence, 0) + 1, takeover_after = 960000 "
    "WHERE _id = 'jobs' AND state = 0";
constexpr const char* kOldRelease = "UPDATE locks SET state = 0 WHERE _id = 'jobs'";

struct OldFile {
  OldFile() {
    std::ofstream(path).close();
    SqliteFile(path.string()).execute(kSchemaWithoutLines);
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "locks.db";
};

std::vector<Waiter> line_at(Store& store) {
  const auto lock = store.inspect("jobs", Freshness::fresh).lock;
  return lock ? lock->line : std::vector<Waiter>{};
}

// The lock is held, and these stand in line.
std::vector<Claim> line_up(Store& store, const std::vector<std::string>& processes) {
  std::vector<Claim> claims;
  for (const std::string& process : processes) {
    claims.push_back(claim_by(store, process));
    REQUIRE(store.line()->stand("jobs", claims.back()).in_line);
  }
  return claims;
}

std::vector<std::string> rows_of(SqliteFile& file, const std::string& table) {
  const std::string text = "SELECT count(*) FROM " + table +
                           " WHERE quote(lock) || quote(ticket) ||"
                           " quote(number) || quote(who) || quote(passed) NOT NULL";
  return {std::to_string(file.integer(text))};
}

}  // namespace

TEST_CASE("a file of an earlier version gets a line, and that version works on beside it",
          "[sqlite][line][R17]") {
  const OldFile old;
  SqliteFile program(old.path.string());
  program.execute("INSERT INTO locks(_id, state) VALUES('jobs', 0)");
  program.execute(kOldClaim);
  const auto store = open_at(old.path);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->who == "old:1:1");
  const auto claims = line_up(*store, {"a", "b"});
  CHECK(program.integer("SELECT count(*) FROM locks WHERE state = 1") == 1);

  // It pushes in, and its release opens every turn.
  program.execute(kOldRelease);
  program.execute(kOldClaim);
  CHECK(line_at(*store).size() == 2);
  CHECK_FALSE(store->line()->stand("jobs", claims[0]).hold);
  program.execute(kOldRelease);
  const Standing second = store->line()->stand("jobs", claims[1]);
  REQUIRE(second.hold);
  CHECK(second.hold->fence == 3);
  CHECK(program.integer("PRAGMA user_version") == 1);
}

TEST_CASE("many who open a file of an earlier version at once all find its lines",
          "[sqlite][line]") {
  const OldFile old;
  std::atomic<int> whole = 0;
  boost::thread_group threads;
  for (int i = 0; i < 8; ++i) {
    threads.create_thread([&, i] {
      const auto error = error_of([&] {
        const auto store = open_at(old.path);
        store->line()->stand("jobs", claim_by(*store, "p" + std::to_string(i)));
      });
      if (!error) ++whole;
    });
  }
  threads.join_all();
  CHECK(whole == 8);
  CHECK(line_at(*open_at(old.path)).size() == 7);
}

TEST_CASE("a table waiters of another shape is refused, and left as it is", "[sqlite][line][R14]") {
  const OldFile old;
  SqliteFile(old.path.string()).execute("CREATE TABLE waiters(lock, name)");
  const auto error = error_of([&] { open_at(old.path); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::bad_record);
  CHECK_THAT(error->what(), Catch::Contains("\"waiters\""));
  CHECK(
      SqliteFile(old.path.string()).integer("SELECT count(*) FROM pragma_table_info('waiters')") ==
      2);
}

TEST_CASE("a malformed line is refused, and left as it is, but its lock can be freed",
          "[sqlite][line][R14]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path);
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b"});
  SqliteFile file(path.string());
  const std::string change = GENERATE(
      as<std::string>{}, "ticket = 'x'", "ticket = 'A' || substr(ticket, 2)", "ticket = 7",
      "number = NULL", "number = 'first'", "number = -1", "number = 9223372036854775807",
      "process = NULL", "process = x'00'", "who = 7", "process = printf('%.65537c', 'p')",
      "who = printf('%.65537c', 'w')", "since = 'now'", "since = NULL", "passed = 'never'");
  file.execute("UPDATE waiters SET " + change + " WHERE process = 'b'");
  INFO(change);
  const auto before = rows_of(file, "waiters");
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { store->inspect("jobs", Freshness::ordinary); },
           [&] { store->line()->stand("jobs", claims[0]); },
           [&] { store->line()->stand("jobs", claim_by(*store, "c")); }}) {
    const auto error = error_of(call);
    REQUIRE(error);
    CHECK(error->errc() == Errc::bad_record);
    CHECK_THAT(error->what(), Catch::Contains("\"line\"") && Catch::Contains("\"waiters\""));
  }
  CHECK_THAT(store->list().locks.at(0).problem, Catch::Contains("\"line\""));
  const Freed freed = store->line()->release_and_tell("jobs", *holder.ts, ReleaseRule::durable);
  CHECK(freed.result == ReleaseResult::freed);
  CHECK(freed.next.empty());
  CHECK_FALSE(store->claim("jobs", FromFree{}, claim_by(*store, "c")));
  CHECK(file.integer("SELECT count(*) FROM waiters") == 2);
  CHECK(rows_of(file, "waiters") == before);
}

TEST_CASE("a place is taken, kept and left without a sync, and a hold is granted with one",
          "[sqlite][line][R8][R20]") {
  const TemporaryFolder folder;
  const auto store = open_at(folder.path() / "locks.db");
  const LockRecord holder = held(*store, "jobs");
  const int begun = syncs();
  const auto claims = line_up(*store, {"a", "b", "c"});
  store->line()->leave("jobs", claims[2].ts);
  CHECK(syncs() == begun);
  store->line()->release_and_tell("jobs", *holder.ts, ReleaseRule::durable);
  const int released = syncs();
  CHECK(released > begun);
  REQUIRE(store->line()->stand("jobs", claims[0]).hold);
  CHECK(syncs() > released);
}

TEST_CASE("to keep a place, or to be refused beside a line, writes nothing",
          "[sqlite][line][R20]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path);
  const LockRecord holder = held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b"});
  SqliteFile file(path.string());
  // Nobody else may write meanwhile.
  file.execute("BEGIN IMMEDIATE");
  CHECK(store->line()->stand("jobs", claims[0]).in_line);
  file.execute("COMMIT");
  store->line()->release_and_tell("jobs", *holder.ts, ReleaseRule::durable);
  // As if it were quite new, however late the next line is.
  file.execute("UPDATE locks SET freed_at = freed_at + 8000");
  file.execute("BEGIN IMMEDIATE");
  CHECK_FALSE(store->claim("jobs", FromFree{*holder.ts}, claim_by(*store, "late")));
  file.execute("COMMIT");
  CHECK(line_at(*store).size() == 2);
}

TEST_CASE("a place in line outlives the removal of its lock's row", "[sqlite][line]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path);
  held(*store, "jobs");
  const auto claims = line_up(*store, {"a", "b"});
  SqliteFile(path.string()).execute("DELETE FROM locks");
  CHECK(store->list().locks.empty());
  REQUIRE(store->line()->stand("jobs", claims[1]).hold);
  const auto line = line_at(*store);
  REQUIRE(line.size() == 1);
  CHECK(line[0].ticket == claims[0].ts);
}

TEST_CASE("no ring is heard for a place that was left, or that has become a hold",
          "[sqlite][line][R19]") {
  const TemporaryFolder folder;
  const auto store = open_at(folder.path() / "locks.db");
  const LockRecord holder = held(*store, "jobs");
  held(*store, "more");
  std::atomic<int> heard_of_jobs = 0;
  std::atomic<int> heard_of_more = 0;
  const auto listening = store->line()->listen("waiter", [&](std::string_view name) {
    if (name == "jobs") ++heard_of_jobs;
    if (name == "more") ++heard_of_more;
  });
  const Claim waiter = line_up(*store, {"waiter"})[0];
  SECTION("left") { store->line()->leave("jobs", waiter.ts); }
  SECTION("became a hold") {
    store->line()->release_and_tell("jobs", *holder.ts, ReleaseRule::durable);
    REQUIRE(store->line()->stand("jobs", waiter).hold);
  }
  store->line()->ring("jobs", {"waiter"});
  REQUIRE(store->line()->stand("more", claim_by(*store, "waiter")).in_line);
  // Rings of one look are told in any order. The second look is behind that.
  while (heard_of_more < 2) store->line()->ring("more", {"waiter"});
  CHECK(heard_of_jobs == 0);
}

TEST_CASE("of a new holder the first who is there is told, and not one who was passed over",
          "[sqlite][line][R17][R23]") {
  const TemporaryFolder folder;
  const auto store = open_at(folder.path() / "locks.db");
  const LockRecord hold = held(*store, "jobs");
  std::atomic<bool> heard = false;
  const auto listening = store->line()->listen("there", [&](std::string_view) { heard = true; });
  const auto line = line_up(*store, {"gone", "quick", "there"});
  REQUIRE(store->release("jobs", *hold.ts) == ReleaseResult::freed);
  const BootTimeAhead ahead;
  ahead.add(150ms);  // After a turn the next two may claim.
  REQUIRE(store->line()->stand("jobs", line[1]).hold);
  const auto clock = host_clock();
  const auto limit = clock->steady_now() + 30s;
  while (!heard && clock->steady_now() < limit) clock->wait_until(clock->steady_now() + 1ms, {});
  CHECK(heard);
}

TEST_CASE("a file of a version that had lines and no witnesses gets those", "[sqlite][line][R23]") {
  const OldFile old;
  SqliteFile(old.path.string())
      .execute(
          "ALTER TABLE locks ADD COLUMN freed_at;"
          "CREATE TABLE waiters(lock NOT NULL, ticket NOT NULL, number, process, who, since, "
          "passed, PRIMARY KEY(lock, ticket)) WITHOUT ROWID");
  std::shared_ptr<Store> store;
  REQUIRE_FALSE(error_of([&] { store = open_at(old.path); }));
  held(*store, "jobs");
  store->ping("holder");
  CHECK(store->inspect("jobs", Freshness::fresh).ping);
  CHECK(SqliteFile(old.path.string())
            .integer("SELECT count(*) FROM pragma_table_info('lockpings') "
                     "WHERE name = 'witness'") == 1);
}
