#include "sqlite_guard.h"

#include <stdexcept>

namespace guarded {
namespace {

constexpr int kBusyMilliseconds = 10'000;

[[noreturn]] void fail(sqlite3* db) { throw std::runtime_error(sqlite3_errmsg(db)); }

void execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(db);
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) fail(db);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, const std::string& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(int index, std::int64_t number) {
    sqlite3_bind_int64(statement_, index, number);
    return *this;
  }

  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail(db_);
    return code == SQLITE_ROW;
  }
  std::int64_t integer() const { return sqlite3_column_int64(statement_, 0); }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

// Nothing else can write to the file until it ends.
class Transaction {
 public:
  explicit Transaction(sqlite3* db) : db_(db) { execute(db, "BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit() { execute(db_, "COMMIT"); }

 private:
  sqlite3* db_;
};

bool is_held(sqlite3* db, const distlock::LockRecord& hold) {
  Statement select(db, "SELECT 1 FROM locks WHERE _id = ?1 AND ts = ?2 AND state > 0");
  return select.bind(1, hold.name).bind(2, to_hex(hold.ts.value())).step();
}

}  // namespace

Database open_resources(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
  Database db(opened);
  if (code != SQLITE_OK) fail(db.get());
  sqlite3_busy_timeout(db.get(), kBusyMilliseconds);
  execute(db.get(), "PRAGMA synchronous = full");
  execute(db.get(), "CREATE TABLE IF NOT EXISTS resources(id TEXT PRIMARY KEY, value INTEGER)");
  return db;
}

std::int64_t read_value(sqlite3* db, const std::string& id) {
  Statement select(db, "SELECT value FROM resources WHERE id = ?1");
  return select.bind(1, id).step() ? select.integer() : 0;
}

Outcome write_value(sqlite3* db, const distlock::LockRecord& hold, const std::string& id,
                    std::int64_t value) {
  Statement insert(db, R"(
    INSERT INTO resources(id, value)
    SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM locks WHERE _id = ?3 AND ts = ?4 AND state > 0)
    ON CONFLICT(id) DO UPDATE SET value = excluded.value)");
  insert.bind(1, id).bind(2, value).bind(3, hold.name).bind(4, to_hex(hold.ts.value())).step();
  return sqlite3_changes(db) == 1 ? Outcome::written : Outcome::refused;
}

Outcome change_if_held(sqlite3* db, const distlock::LockRecord& hold,
                       const std::function<void()>& change) {
  Transaction transaction(db);
  if (!is_held(db, hold)) return Outcome::refused;
  change();
  transaction.commit();
  return Outcome::written;
}

void raise_fence(sqlite3* db, const std::string& lock, distlock::Fence floor) {
  Statement raise(db, R"(
    INSERT INTO locks(_id, state, who, fence) VALUES(?1, 0, '', ?2)
    ON CONFLICT(_id) DO UPDATE SET fence = max(coalesce(fence, 0), excluded.fence))");
  raise.bind(1, lock).bind(2, floor).step();
}

}  // namespace guarded
