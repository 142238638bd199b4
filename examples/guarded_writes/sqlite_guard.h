#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "distlock/record.h"
#include "stamp.h"

namespace guarded {

// Data in the same file as the locks. A change asks, in its own transaction, whether the hold is
// still the lock's. So a takeover comes either before it (refused) or after it.
//
// Let distlock make the file (open_store(), or any lock), then add tables of your own. Errors:
// std::runtime_error; the transaction was rolled back, unless COMMIT itself met an I/O error.

struct CloseDatabase {
  void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// Opens the file that `path` names and makes the table of this example.
Database open_resources(const std::string& path);

/// 0 if nothing was written. Once `hold` was claimed nobody else changes it while `hold` lasts.
std::int64_t read_value(sqlite3* db, const std::string& id);

/// Writes in one statement, the first time as well, if `hold` is still the lock's.
Outcome write_value(sqlite3* db, const distlock::LockRecord& hold, const std::string& id,
                    std::int64_t value);

/// For more than one statement: runs `change` in a transaction if `hold` is still the lock's. Other
/// processes, their locks' pings included, wait for it to end: keep it short.
Outcome change_if_held(sqlite3* db, const distlock::LockRecord& hold,
                       const std::function<void()>& change);

/// Lets the lock's next fence be greater than `floor`, whether or not it has a row.
void raise_fence(sqlite3* db, const std::string& lock, distlock::Fence floor);

}  // namespace guarded
