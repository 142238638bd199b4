#include <sqlite3.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "bare_lock.h"
#include "distlock/stores.h"

namespace distlock::bench {
namespace {

constexpr const char* kTs = "0123456789abcdef01234567";

constexpr const char* kPrepare = R"(
  INSERT INTO locks(_id, state) VALUES(?1, 0) ON CONFLICT DO UPDATE SET state = 0)";

// As src/stores/sqlite/sqlite_statements.cpp has it, with the times given and not asked for.
constexpr const char* kClaim = R"(
  UPDATE locks SET state = 1, process = ?2, who = ?3, "when" = ?8, why = ?4, ts = ?5,
                   fence = coalesce(fence, 0) + 1, takeover_after = ?6
  WHERE _id = ?1 AND ?8 <= ?7
    AND (fence IS NULL OR
         (typeof(fence) = 'integer' AND fence BETWEEN 0 AND 9223372036854775806))
    AND state = 0
  RETURNING "when", fence)";

constexpr const char* kRelease =
    "UPDATE locks SET state = 0 WHERE _id = ?1 AND ts = ?2 AND state IN (1, 2)";

std::string make_file(const ConnectionString& connection) {
  const std::string path = connection.path() + ".bare";
  static_cast<void>(open_store(ConnectionString("sqlite:" + path)));
  return path;
}

// Open for as long as the program runs, as a benchmark may.
class BareSqliteLock : public BareLock {
 public:
  BareSqliteLock(const ConnectionString& connection, std::string name) : name_(std::move(name)) {
    const std::string path = make_file(connection);
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    check(sqlite3_open_v2(path.c_str(), &db_, kFlags, nullptr) == SQLITE_OK);
    execute(connection.durable() ? "PRAGMA synchronous = full" : "PRAGMA synchronous = off");
    sqlite3_busy_timeout(db_, 10'000);
    sqlite3_stmt* const make = prepare(kPrepare);
    bind(make, 1, name_.c_str());
    run(make);
    claim_ = prepare(kClaim);
    release_ = prepare(kRelease);
  }

  void claim() override {
    bind(claim_, 1, name_.c_str());
    bind(claim_, 2, "bench.example:1700000000:1234567890");
    bind(claim_, 3, "bench.example:1700000000:1234567890:thread1:1234567890");
    bind(claim_, 4, "bench");
    bind(claim_, 5, kTs);
    bind(claim_, 6, std::int64_t{960'000});
    bind(claim_, 7, std::int64_t{4'102'444'800'000});
    bind(claim_, 8, std::int64_t{1'700'000'000'000});
    run(claim_);
  }
  void release() override {
    bind(release_, 1, name_.c_str());
    bind(release_, 2, kTs);
    run(release_);
  }

 private:
  void check(bool good) const {
    if (!good) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  void execute(const char* sql) {
    check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) ==
          SQLITE_OK);
    return statement;
  }
  void bind(sqlite3_stmt* to, int index, const char* text) {
    check(sqlite3_bind_text(to, index, text, -1, SQLITE_STATIC) == SQLITE_OK);
  }
  void bind(sqlite3_stmt* to, int index, std::int64_t number) {
    check(sqlite3_bind_int64(to, index, number) == SQLITE_OK);
  }
  void run(sqlite3_stmt* statement) {
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    check(sqlite3_reset(statement) == SQLITE_OK && sqlite3_changes(db_) == 1);
  }

  const std::string name_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* claim_ = nullptr;
  sqlite3_stmt* release_ = nullptr;
};

}  // namespace

std::unique_ptr<BareLock> bare_sqlite_lock(const ConnectionString& connection,
                                           const std::string& name) {
  return std::make_unique<BareSqliteLock>(connection, name);
}

}  // namespace distlock::bench
