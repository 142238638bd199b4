#pragma once

#include <sqlite3.h>

#include <string>

#include "distlock/error.h"
#include "stores/effect.h"

// The meaning of SQLite's error codes: the effect of the failed call, and the remedy.
namespace distlock {

/// Says why a commit is refused on this thread: the system's error if the files cannot be looked
/// at, or 0 if they were replaced.
void note_refused_commit(int system_error) noexcept;

/// The error code where the files cannot be looked at, or were replaced: then the error is 0.
Errc errc_of_look(int system_error);
/// The same in words.
std::string problem_of_look(int system_error);

/// The error code for an extended result code of SQLite.
Errc errc_of(int code, Effect effect, int system_error);

/// How the file is, after a call that failed, and what mends it. In SQLite's own words only where
/// they say more.
std::string problem_of(sqlite3* db, const std::string& database);

/// Throws for the call that failed last.
[[noreturn]] void fail(sqlite3* db, const std::string& operation, Effect effect);

/// Throws for a write that had no effect although its row is there, as under a trigger that takes
/// it away. Errors: `not_applied`.
[[noreturn]] void refuse_lost_write(sqlite3* db, const std::string& operation);

}  // namespace distlock
