#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "distlock/connection_string.h"
#include "distlock/options.h"
#include "distlock/store.h"
#include "saturating.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_database.h"
#include "stores/sqlite/sqlite_forks.h"
#include "stores/sqlite/sqlite_gate.h"
#include "stores/sqlite/sqlite_statements.h"
#include "stores/sqlite/sqlite_syncs.h"
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
  InSqlite in_;
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

  /// The end of all waits of a call that begins now, as since_boot() gives it.
  std::chrono::milliseconds end_of_call() const { return since_boot() + call_limit_; }

  /// Every call begins here: alone on the connection, and on the file that others see. All its
  /// waits end with the call's limit. Errors: `not_applied`, `store_replaced`.
  SqliteCall begin_call(Access access) { return begin_call(access, end_of_call()); }
  /// The same, for one of several parts of a call, which share its limit.
  SqliteCall begin_call(Access access, std::chrono::milliseconds give_up_at);

  /// Does `write` in a call that writes, and gives its result once the disk has what it wrote. The
  /// call is over by then: other threads write while this one waits for the disk. Errors: as
  /// `write`'s and begin_call()'s; `outcome_unknown` if the disk does not take it, and
  /// `not_applied` if it has written nothing, and what it saw may be on no disk.
  template <class Write>
  auto write_durably(Access access, const Write& write) {
    return write_durably(access, end_of_call(), write);
  }
  template <class Write>
  auto write_durably(Access access, std::chrono::milliseconds give_up_at, const Write& write) {
    return write_durably(access, give_up_at, {}, write);
  }
  /// The same of a write that may claim this lock.
  template <class Write>
  auto write_durably(Access access, std::chrono::milliseconds give_up_at, std::string_view lock,
                     const Write& write);
  /// For a look that shall confirm a claim whose own call has no answer: returns once the disk has
  /// all claims of this lock that were made by this connection. Its call is over by then. Errors:
  /// `not_applied`.
  void cover_claims_of(std::string_view lock, std::chrono::milliseconds give_up_at);

  std::chrono::milliseconds call_limit() const { return call_limit_; }
  const BootClock& clock() const { return clock_; }
  StoreNow now() const {
    return {StoreTime{epoch_ + since_boot()},
            clock_.name,
            true,
            {clock_.unrelated.begin(), clock_.unrelated.end()}};
  }

  /// CLOCK_BOOTTIME at that time of the store's, as this process's clock has it.
  std::chrono::milliseconds since_boot_at(StoreTime time) const {
    return saturating_difference(time, StoreTime{epoch_});
  }

  const SqliteStatements& statements() const { return *statements_; }
  SqliteDatabase& db() { return db_; }
  /// The time of this call's writes: the same for all of them, the first that is asked for. A
  /// transaction asks after it has begun, and so after it got the write lock (R8).
  StoreTime write_time() { return StoreTime{std::chrono::milliseconds{store_now_()}}; }
  void forget_write_time() { write_time_.reset(); }

 private:
  void cover_owed(std::chrono::milliseconds give_up_at);
  void cover_refusal(std::chrono::milliseconds give_up_at);
  void cover_seen(std::uint64_t commit, std::chrono::milliseconds give_up_at);
  void settle_doubt(Access access);
  void check_descriptors() const;
  void check_no_transaction() const;
  [[noreturn]] void refuse_in_doubt() const;
  /// The number of the call's commit, if it made one.
  std::optional<std::uint64_t> commit_since(std::int64_t changes, std::string_view lock);
  std::atomic<std::uint64_t>& last_claim(std::string_view lock);

  const std::chrono::milliseconds call_limit_;
  const bool durable_;
  SqliteTurns turns_;
  std::optional<std::int64_t> write_time_;
  std::function<std::int64_t()> store_now_ = [this] {
    // Without names: SQLite calls it, and no exception may go through it.
    if (!write_time_) write_time_ = (epoch_ + since_boot()).count();
    return *write_time_;
  };
  std::optional<SqliteGate> gate_;  // Outlives the connection.
  SqliteDatabase db_;
  std::optional<SqliteSyncs> syncs_;
  // By the lock's hash. Two locks with one hash may wait for each other's syncs, and no more.
  std::array<std::atomic<std::uint64_t>, 256> last_claims_{};
  BootClock clock_;
  std::chrono::milliseconds epoch_{};
  std::optional<SqliteStatements> statements_;
};

template <class Write>
auto SqliteConnection::write_durably(Access access, std::chrono::milliseconds give_up_at,
                                     std::string_view lock, const Write& write) {
  std::optional<std::uint64_t> commit;
  auto result = [&] {
    const SqliteCall call = begin_call(access, give_up_at);
    const std::int64_t before = db_.all_changes();
    try {
      auto written = write();
      commit = commit_since(before, lock);
      return written;
    } catch (...) {
      commit_since(before, lock);  // A trigger may fail a write and let it stand.
      throw;
    }
  }();
  if (commit) {
    syncs_->cover(*commit, give_up_at);
  } else {
    cover_refusal(give_up_at);
  }
  return result;
}

}  // namespace distlock
