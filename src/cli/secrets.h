#pragma once

#include <iosfwd>

#include "cli/arguments.h"
#include "distlock/connection_string.h"

namespace distlock::cli {

/// Overwrites the passwords of MongoDB connection strings in the words of `main`, where a process
/// list finds them, whatever the case of their schemes. Call it once the words have been read.
void hide_secrets(int count, char** words);

/// Removes the password from $DISTLOCK_URI, which the COMMAND of `run` inherits. A `distlock` that
/// COMMAND starts then refuses (64). If the variable were unset, it would silently use the default
/// store.
void hide_secret_in_environment();

/// Forbids core files, which would have the passwords in memory. Call it before a password is read,
/// and before other threads and processes are started: they inherit the limit.
void forbid_core_files();

/// The limit from before that call, for a command. Safe between fork and exec.
void restore_core_files();

/// Refuses a string from which hide_secret_in_environment() has removed the password.
/// Errors: `invalid_argument`.
void check_has_its_secrets(const ConnectionString& connection);

/// Says on `err` which other users can read its password.
void warn_of_readers(const ConnectionString& connection, const StoreArguments& arguments,
                     std::ostream& err);

}  // namespace distlock::cli
