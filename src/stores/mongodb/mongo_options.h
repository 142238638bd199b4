#pragma once

#include "stores/mongodb/mongo_bson.h"
#include "stores/mongodb/mongo_handles.h"

namespace distlock {

/// How sure a read is. `local`: the primary has it. `majority`: a majority has it. `linearizable`:
/// no later primary has overtaken it either.
enum class ReadConcern { local, majority, linearizable };

/// For the driver: the command goes to this server and no other.
Bson pinned_to(const ServerDescription& server);

/// The same, and how sure the read is to be.
Bson read_options(const ServerDescription& server, ReadConcern concern);

/// The options of a cursor's first command, and of those that follow it.
struct CursorOptions {
  ClientSession session;
  Bson first;
  Bson others;
};
CursorOptions cursor_options(mongoc_client_t* client, const ServerDescription& server,
                             ReadConcern concern);

}  // namespace distlock
