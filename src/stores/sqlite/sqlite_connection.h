#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "distlock/connection_string.h"
#include "distlock/options.h"
#include "distlock/store.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_database.h"
#include "stores/sqlite/sqlite_gate.h"
#include "stores/sqlite/sqlite_statements.h"
#include "stores/sqlite/sqlite_turns.h"

namespace distlock {

/// One call: for as long as it lasts it is alone on the connection, and, if it writes, in the gate.
class SqliteCall {
 public:
  SqliteCall(SqliteTurns::Turn turn, SqliteDatabase& db, SqliteGate* gate);
  ~SqliteCall();
  SqliteCall(SqliteCall&& other) noexcept;
  SqliteCall& operator=(SqliteCall&&) = delete;

 private:
  SqliteTurns::Turn turn_;
  SqliteDatabase& db_;
  SqliteGate* gate_;
};

/// A SQLite file of ours, opened, with its clock and statements. Everything but begin_call() and
/// now() belongs to the call that was begun.
///
/// Threads: begin_call() lets in one at a time.
class SqliteConnection {
 public:
  SqliteConnection(const ConnectionString& connection, const StoreOptions& options);

  /// The effect of a call on the file, and how it waits for its turn.
  enum class Access {
    read,
    write,
    /// A write that may be lost with the machine: it waits for no disk.
    quick_write,
    ping,
  };

  /// Every call begins here: alone on the connection, and on the file that others see. All its
  /// waits end with the call's limit. Errors: `not_applied`.
  SqliteCall begin_call(Access access);

  std::chrono::milliseconds call_limit() const { return call_limit_; }
  const BootClock& clock() const { return clock_; }
  StoreNow now() const {
    return {StoreTime{epoch_ + since_boot()}, clock_.name, true, clock_.boot};
  }

  const SqliteStatements& statements() const { return *statements_; }
  SqliteDatabase& db() { return db_; }
  /// The time of this call's writes: the same for all of them, the first that is asked for. A
  /// transaction asks after it has begun, and so after it got the write lock (R8).
  StoreTime write_time() { return StoreTime{std::chrono::milliseconds{store_now_()}}; }
  void forget_write_time() { write_time_.reset(); }

 private:
  void set_syncs(bool full);

  const std::chrono::milliseconds call_limit_;
  const bool durable_;
  SqliteTurns turns_;
  std::optional<std::int64_t> write_time_;
  std::function<std::int64_t()> store_now_ = [this] {
    if (!write_time_) write_time_ = now().time.time_since_epoch().count();
    return *write_time_;
  };
  std::optional<SqliteGate> gate_;  // Outlives the connection.
  SqliteDatabase db_;
  bool syncs_ = false;
  BootClock clock_;
  std::chrono::milliseconds epoch_{};
  std::optional<SqliteStatements> statements_;
};

}  // namespace distlock
