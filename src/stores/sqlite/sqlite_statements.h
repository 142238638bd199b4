#pragma once

#include "stores/sqlite/sqlite_database.h"

namespace distlock {

/// The prepared statements of a SQLite store. They call the SQL function store_now().
///
/// Every write is one statement, and so one transaction. SQLite calls store_now() while a statement
/// runs, which is after it got the write lock: a claim that waited eight seconds for other writers
/// is judged by the time after them (R8).
struct SqliteStatements {
  explicit SqliteStatements(const SqliteDatabase& db);

  SqliteStatement inspect;  ///< ?1 name. Columns: the lock's, then its holder's ping's.
  /// ?1 name, ?2 process, ?3 who, ?4 why, ?5 ts, ?6 takeover_after, ?7 cutoff, and claim_hold: ?8
  /// the ts that it starts from. A row of when and fence if it matched.
  SqliteStatement claim_absent;
  SqliteStatement claim_free;
  SqliteStatement claim_hold;
  SqliteStatement release;       ///< ?1 name, ?2 ts
  SqliteStatement ping;          ///< ?1 process, ?2 clock. A row of ping.
  SqliteStatement remove_ping;   ///< ?1 process
  SqliteStatement forget_pings;  ///< ?1 age, ?2 clock, ?3 what clocks beside it begin with
  SqliteStatement holds;         ///< ?1 process. Columns: _id, ts.
  SqliteStatement locks;
  SqliteStatement pings;
};

inline constexpr int kInspectLockColumns = 9;
inline constexpr int kInspectColumns = 12;

}  // namespace distlock
