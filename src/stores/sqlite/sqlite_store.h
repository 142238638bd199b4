#pragma once

#include <memory>

#include "distlock/connection_string.h"
#include "distlock/options.h"
#include "distlock/store.h"

// The room src/stores/sqlite/, from the bottom up:
//
//   sqlite_file.h, sqlite_file_system.h            the file, before SQLite opens it
//   sqlite_errors.h                                the meaning of its failures
//   sqlite_database.h, sqlite_schema.h             a connection to it, and its tables
//   sqlite_clock.h                                 the store's clock
//   sqlite_page.h; sqlite_gate.h, sqlite_bell.h    files beside it, whose words processes share
//   sqlite_statements.h, sqlite_rows.h             what is executed, and the documents in its rows
//   own_descriptor.h                               a descriptor that the program may close
//   sqlite_turns.h, sqlite_connection.h            one call: its turn, and its place in the gate
//   sqlite_locks.h, sqlite_line.h, sqlite_store.h  one lock, its line, and the ports
namespace distlock {

/// Opens the store in the SQLite file that `connection` names, making what is missing.
/// Errors: those of open_store().
std::shared_ptr<Store> open_sqlite_store(const ConnectionString& connection,
                                         const StoreOptions& options);

}  // namespace distlock
