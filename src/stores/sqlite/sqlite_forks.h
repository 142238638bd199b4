#pragma once

#include <memory>
#include <string>

#include "stores/forks_between_calls.h"
#include "stores/sqlite/own_descriptor.h"

struct sqlite3;

// In a child of fork() SQLite still believes that it has its parent's locks of files. The kernel
// gives them to no child, so the child would work without locks: others could remove the log that
// it uses.
namespace distlock {

/// While it lives, this thread may be in the middle of a call of SQLite.
struct InSqlite : InCallOf {
  InSqlite() : InCallOf(Library::sqlite) {}
};

/// Before a connection to `path` is opened, inside. In a child of fork(), has SQLite forget its
/// parent's connections, which nobody uses there. It closes no descriptor. Errors: `forked` if
/// another thread was in the middle of a call of SQLite at the fork; `not_applied` while there is a
/// connection whose descriptors the program has closed: SQLite would use these numbers anew.
void forget_connections_of_parent(const std::string& path);

// All inside.

void note_opened(sqlite3* db);
/// By this descriptor of its log is seen whether the program has closed all.
void note_descriptor(sqlite3* db, const std::shared_ptr<const OwnDescriptor>& log);
void note_closing(sqlite3* db) noexcept;
/// Where the program has closed the descriptors of this connection: closes it and no descriptor,
/// and leaves its files as they are.
void close_without_files(sqlite3* db) noexcept;

}  // namespace distlock
