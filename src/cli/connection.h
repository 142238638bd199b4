#pragma once

#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "distlock/connection_string.h"
#include "distlock/store.h"

namespace distlock::cli {

/// The connection string that the arguments name, read from its file if need be.
/// Errors: those of ConnectionString; `invalid_argument` if the file cannot be read or nothing
/// names a store, `permission_denied` if the file may not be read.
ConnectionString connection_of(const StoreArguments& arguments);

/// Whether it names a MongoDB, or a mirrored store of them.
bool is_on_mongodb(const ConnectionString& connection);

/// For commands that only look. Without this check they would make the file of a mistyped path, and
/// find no lock in it. Errors: `not_applied` if there is no SQLite file where `connection` says; of
/// a mirrored store, if a majority of the files is missing.
void check_is_there(const ConnectionString& connection);

/// For `run` and `break`: a lock on one member of a mirrored store excludes nobody who names the
/// whole store. One call of the store, if it is not a mirrored one. Errors: `invalid_argument` if
/// it is such a member; those of Store::inspect().
void check_is_no_member(Store& store, const ConnectionString& connection);

/// A message about a member of a mirrored store that is named alone; of another store nothing.
std::string member_in_words(const LockRecord& identity, const ConnectionString& connection);

/// For `run` and `break`. Errors: `invalid_argument` if the name is that of a member's identity.
void check_is_a_lock(std::string_view name);

/// For `run`: makes the folders of the file that is used where nothing names a store, for this user
/// alone. Errors: if they cannot be made, `permission_denied`, `invalid_argument` for a path that
/// can be no folder's, `not_applied` otherwise, as on a full disk.
void make_default_folder(const StoreArguments& arguments);

/// For `run`. Errors: `invalid_argument` for a store that no other process has, which would let
/// every command run at once.
void check_excludes(const ConnectionString& connection);

}  // namespace distlock::cli
