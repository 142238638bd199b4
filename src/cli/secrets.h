#pragma once

#include <iosfwd>

#include "cli/arguments.h"
#include "distlock/connection_string.h"

namespace distlock::cli {

/// Overwrites what a process's words (`main`'s, where a process list finds them) have of passwords
/// in MongoDB connection strings. Call it once they have been read.
void hide_secrets(int count, char** words);

/// The same for $DISTLOCK_URI, which the COMMAND of `run` so gets without its password. That is no
/// connection string that works, and not none either: then it would lock somewhere else.
void hide_secret_in_environment();

/// A core file would have what is in the memory. To be called before that holds a password, and
/// before there are other threads or processes: those that are forked have the same limit.
void forbid_core_files();

/// The limit from before that call, for a command. Safe between fork and exec.
void restore_core_files();

/// Refuses one that has been through hide_secret_in_environment(). Errors: `invalid_argument`.
void check_has_its_secrets(const ConnectionString& connection);

/// Says on `err` who else can read the password in it.
void warn_of_readers(const ConnectionString& connection, const StoreArguments& arguments,
                     std::ostream& err);

}  // namespace distlock::cli
