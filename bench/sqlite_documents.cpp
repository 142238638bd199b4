#include <sqlite3.h>

#include <map>
#include <stdexcept>

#include "documents.h"

namespace distlock::bench {
namespace {

// Open for as long as the program runs, as a benchmark may.
class SqliteDocuments : public Documents {
 public:
  explicit SqliteDocuments(const ConnectionString& connection) {
    check(sqlite3_open_v2(connection.path().c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr) ==
          SQLITE_OK);
    lock_ = prepare(
        "INSERT INTO locks(_id, state, process, who, \"when\", why, ts, fence, takeover_after) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    ping_ = prepare("INSERT INTO lockpings(_id, ping, clock) VALUES(?1, ?2, ?3)");
    sqlite3_stmt* any = prepare("SELECT 1 FROM locks UNION SELECT 1 FROM lockpings");
    if (sqlite3_step(any) == SQLITE_ROW)
      throw std::runtime_error("the file holds locks already: give another one");
    sqlite3_finalize(any);
  }

  void add(const DocumentPair& pair) override {
    if (sqlite3_get_autocommit(db_) != 0) execute("BEGIN IMMEDIATE");
    const LockRecord& lock = pair.lock;
    bind(lock_, 1, lock.name);
    bind(lock_, 2, static_cast<std::int64_t>(lock.state));
    bind(lock_, 3, lock.process);
    bind(lock_, 4, lock.who);
    bind(lock_, 5, lock.when->time_since_epoch().count());
    bind(lock_, 6, lock.why);
    bind(lock_, 7, to_hex(*lock.ts));
    bind(lock_, 8, lock.fence);
    bind(lock_, 9, lock.takeover_after->count());
    run(lock_);
    bind(ping_, 1, pair.ping.process);
    bind(ping_, 2, pair.ping.ping.time_since_epoch().count());
    bind(ping_, 3, *pair.ping.clock);
    run(ping_);
  }

  void commit() override { execute("COMMIT"); }

  std::map<std::string, std::int64_t> commands() override { return {}; }

 private:
  void check(bool good) const {
    if (!good) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  void execute(const char* sql) {
    check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) == SQLITE_OK);
    return statement;
  }
  void bind(sqlite3_stmt* to, int index, const std::string& text) {
    check(sqlite3_bind_text(to, index, text.c_str(), -1, SQLITE_TRANSIENT) == SQLITE_OK);
  }
  void bind(sqlite3_stmt* to, int index, std::int64_t number) {
    check(sqlite3_bind_int64(to, index, number) == SQLITE_OK);
  }
  void run(sqlite3_stmt* statement) {
    check(sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* lock_ = nullptr;
  sqlite3_stmt* ping_ = nullptr;
};

}  // namespace

std::unique_ptr<Documents> sqlite_documents(const ConnectionString& connection) {
  return std::make_unique<SqliteDocuments>(connection);
}

}  // namespace distlock::bench
