#pragma once

#include <memory>

#include "distlock/connection_string.h"
#include "distlock/options.h"
#include "distlock/store.h"
#include "stores/mongodb/mongo_servers.h"

// The room src/stores/mongodb/, from the bottom up:
//
//   mongo_commands.h, mongo_line_commands.h,
//   mongo_bell_commands.h                          what is sent: pure
//   mongo_documents.h, mongo_errors.h              what an answer means: pure
//   mongo_message.h, mongo_privileges.h            whether it is sound, or why it refuses: pure
//   mongo_open.h, mongo_connect.h, mongo_stream.h  connections, whose answers are judged
//   mongo_call.h, mongo_room.h                     one call: one client, one server, one clock
//   mongo_store.h, mongo_line.h, mongo_bell.h      the ports, and the bell
namespace distlock {

/// Opens the MongoDB that a `mongodb:` string names.
/// Errors: as open_store(); `invalid_argument` also for servers that are not `servers`.
std::shared_ptr<Store> open_mongo_store(const ConnectionString& connection,
                                        const StoreOptions& options,
                                        MongoServers servers = MongoServers::any);

}  // namespace distlock
