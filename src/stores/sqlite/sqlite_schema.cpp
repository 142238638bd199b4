#include "stores/sqlite/sqlite_schema.h"

#include <boost/thread/lock_types.hpp>
#include <boost/thread/mutex.hpp>
#include <optional>
#include <string>

#include "fork_guard.h"
#include "text.h"

namespace distlock {
namespace {

constexpr std::int64_t kApplicationId = 0x646c636b;  // "dlck"
constexpr std::int64_t kVersion = 1;
constexpr const char* kOpen = "open";
// The end of the year 9999: no clock that works gives more, and sums of such dates do not overflow.
constexpr std::int64_t kLastDate = 253'402'300'799'999;

PerProcess<boost::timed_mutex> one_makes_at_a_time;

// Columns have no types, so that they hold whatever is put there and it is judged as a document,
// like everywhere (R14). Times are milliseconds, `ts` 24 hexadecimal digits.
constexpr const char* kSchema = R"(
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

// For the lines of waiters (R17). Earlier versions made files without them, and work beside them.
constexpr const char* kFreedAt = "ALTER TABLE locks ADD COLUMN freed_at";
constexpr const char* kWaiters = R"(
  CREATE TABLE waiters(lock NOT NULL, ticket NOT NULL, number, process, who, since, passed,
                       PRIMARY KEY(lock, ticket)) WITHOUT ROWID)";

// For the witnesses of processes (R23), likewise.
constexpr const char* kWitness = "ALTER TABLE lockpings ADD COLUMN witness";

[[noreturn]] void refuse(const SqliteDatabase& db, const std::string& problem) {
  throw Error(Errc::bad_record, "open " + in_quotes(db.path()) + ": " + problem);
}

// Whether the file has our tables; false if it has none at all.
bool is_ours(const SqliteDatabase& db) {
  const std::int64_t application = db.integer(kOpen, "PRAGMA application_id");
  const std::int64_t version = db.integer(kOpen, "PRAGMA user_version");
  if (application == kApplicationId && version == kVersion) return true;
  if (application == kApplicationId) {
    refuse(db, "the file is of version " + std::to_string(version) + ", this program knows " +
                   std::to_string(kVersion) + "; use a newer distlock, or another file");
  }
  if (application != 0 || db.integer(kOpen, "SELECT count(*) FROM sqlite_schema") != 0) {
    refuse(db, "it is another program's SQLite database; give another path");
  }
  return false;
}

bool has_freed_at(const SqliteDatabase& db) {
  return db.integer(kOpen,
                    "SELECT count(*) FROM pragma_table_info('locks') WHERE name = 'freed_at'") != 0;
}

bool has_witness(const SqliteDatabase& db) {
  return db.integer(kOpen,
                    "SELECT count(*) FROM pragma_table_info('lockpings') WHERE name = 'witness'") !=
         0;
}

bool has_waiters(const SqliteDatabase& db) {
  if (db.integer(kOpen, "SELECT count(*) FROM pragma_table_info('waiters')") == 0) return false;
  constexpr std::int64_t kColumns = 7;
  const bool whole = db.integer(kOpen,
                                "SELECT count(*) FROM pragma_table_info('waiters') WHERE name IN "
                                "('lock', 'ticket', 'number', 'process', 'who', 'since', "
                                "'passed')") == kColumns;
  if (!whole) refuse(db, "its table \"waiters\" is another's; give another path");
  return true;
}

void create_schema(const SqliteDatabase& db) {
  SqliteTransaction transaction(db, kOpen, "BEGIN IMMEDIATE");
  if (!is_ours(db)) db.execute(kOpen, Effect::writes, kSchema);
  if (!has_freed_at(db)) db.execute(kOpen, Effect::writes, kFreedAt);
  if (!has_waiters(db)) db.execute(kOpen, Effect::writes, kWaiters);
  if (!has_witness(db)) db.execute(kOpen, Effect::writes, kWitness);
  transaction.commit();
}

// A copy by VACUUM INTO has no write-ahead log, and a program may have turned it off. The syncs are
// of the log alone.
bool is_written_ahead(const SqliteDatabase& db) {
  return db.integer(kOpen, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") !=
         0;
}

// The first question reads the file, which tells how it is written.
bool is_whole(const SqliteDatabase& db) {
  SqliteTransaction one_view(db, kOpen, "BEGIN");
  return is_ours(db) && is_written_ahead(db) && has_freed_at(db) && has_waiters(db) &&
         has_witness(db);
}

// SQLite's write lock is waited for by looking at it. Where hundreds of threads open a new file at
// once, they leave its holder no time. So one of them makes what is not there, and the others find
// it.
boost::unique_lock<boost::timed_mutex> alone_to_make(const SqliteDatabase& db) {
  const boost::chrono::milliseconds limit(db.time_to_wait().count());
  return {one_makes_at_a_time.get(), limit};
}

bool has_write_ahead_log(const SqliteDatabase& db) {
  const SqliteStatement statement = db.prepare(kOpen, Effect::writes, "PRAGMA journal_mode = wal");
  SqliteRun run(statement);
  return run.step() && std::string_view("wal") ==
                           reinterpret_cast<const char*>(sqlite3_column_text(run.get(), 0));
}

// Of processes that turn the log on at once, all but one are told "busy" without being let wait. A
// write transaction does wait, and after it the other has done it.
void turn_on_write_ahead_log(const SqliteDatabase& db) {
  constexpr int kAttemptsMax = 20;
  for (int attempt = 1;; ++attempt) {
    try {
      if (has_write_ahead_log(db)) return;
      throw Error(Errc::not_applied, "open " + in_quotes(db.path()) +
                                         ": this file system has no shared memory, which the "
                                         "write-ahead log needs; use a local disk");
    } catch (const Error& error) {
      if (attempt == kAttemptsMax || error.errc() != Errc::not_applied) throw;
    }
    db.execute(kOpen, Effect::reads, "BEGIN IMMEDIATE; COMMIT");
  }
}

std::optional<std::chrono::milliseconds> epoch_in(const SqliteDatabase& db,
                                                  const SqliteStatement& select,
                                                  const std::string& name) {
  SqliteRun run(select);
  if (!run.bind(1, name).step()) return std::nullopt;
  if (sqlite3_column_type(run.get(), 0) != SQLITE_INTEGER) {
    refuse(db, "table \"clocks\" has no integer for clock " + in_quotes(name));
  }
  const std::int64_t epoch = run.integer(0);
  if (epoch < -kLastDate || epoch > kLastDate) {
    refuse(db, "table \"clocks\" has " + std::to_string(epoch) + ", which is no date, for clock " +
                   in_quotes(name));
  }
  return std::chrono::milliseconds{epoch};
}

}  // namespace

void prepare_schema(const SqliteDatabase& db) {
  if (is_whole(db)) return;
  const auto alone = alone_to_make(db);
  if (is_whole(db)) return;
  turn_on_write_ahead_log(db);
  create_schema(db);
}

std::chrono::milliseconds epoch_of(const SqliteDatabase& db, const std::string& name) {
  const SqliteStatement insert =
      db.prepare(kOpen, Effect::writes, "INSERT INTO clocks VALUES(?1, ?2) ON CONFLICT DO NOTHING");
  const SqliteStatement select =
      db.prepare(kOpen, Effect::reads, "SELECT epoch FROM clocks WHERE clock = ?1");
  if (const auto epoch = epoch_in(db, select, name)) return *epoch;
  const auto alone = alone_to_make(db);
  if (const auto epoch = epoch_in(db, select, name)) return *epoch;
  SqliteRun(insert).bind(1, name).bind(2, new_epoch().count()).finish();
  if (const auto epoch = epoch_in(db, select, name)) return *epoch;
  refuse(db, "table \"clocks\" does not keep what is written there");
}

}  // namespace distlock
