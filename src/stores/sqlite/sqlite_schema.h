#pragma once

#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_database.h"

namespace distlock {

/// Makes an empty file a database of ours, with a write-ahead log; checks one that is not empty,
/// and adds what an earlier version of ours has not made. Errors: `bad_record` if it is another
/// program's or a newer version's.
void prepare_schema(const SqliteDatabase& db);

/// The epoch of the clock `name`, entered now if nobody has (sqlite_clock.h).
std::chrono::milliseconds epoch_of(const SqliteDatabase& db, const std::string& name);

}  // namespace distlock
