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

  /// ?1 name. Columns: the lock's, then its holder's ping's, then those of one place in line. A row
  /// for each place, or one without any.
  SqliteStatement inspect;
  /// ?1 name, ?2 process, ?3 who, ?4 why, ?5 ts, ?6 takeover_after, ?7 cutoff; but for claim_absent
  /// also ?8, the ts that it starts from, and ?9. That is, for claim_hold, when it was taken; for
  /// claim_free, anything if it may be claimed though somebody stands in line. A row of when, fence
  /// and, but for claim_absent, freed_at if it matched.
  SqliteStatement claim_absent;
  SqliteStatement claim_free;
  SqliteStatement claim_hold;
  SqliteStatement release;       ///< ?1 name, ?2 ts. A row, whether somebody is in line, if it did.
  SqliteStatement add_place;     ///< ?1 lock, ?2 ticket, ?3 passed, ?4 process, ?5 who, ?6 since
  SqliteStatement mark_place;    ///< ?1 lock, ?2 ticket, ?3 passed
  SqliteStatement remove_place;  ///< ?1 lock, ?2 ticket
  SqliteStatement ping;  ///< ?1 process, ?2 clock, ?3 to ?6 health, ?7 witness. A row of ping.
  SqliteStatement remove_ping;   ///< ?1 process
  SqliteStatement forget_pings;  ///< ?1 age, ?2 clock, ?3 what clocks beside it begin with
  SqliteStatement holds;         ///< ?1 process. Columns: _id, ts, when.
  SqliteStatement locks;
  SqliteStatement pings;
  SqliteStatement places;  ///< Columns: lock, then those of one place.
  /// Locks with a line, and those that the processes in line hold, if they took them since the
  /// first of them came.
  SqliteStatement locks_of_waits;
  SqliteStatement pings_of_waits;  ///< Of the processes in line.
};

// Each ends before this column of `inspect`.
inline constexpr int kInspectLockColumns = 10;
inline constexpr int kInspectPingColumns = 14;

}  // namespace distlock
