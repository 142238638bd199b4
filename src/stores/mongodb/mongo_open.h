#pragma once

#include <chrono>
#include <memory>

#include "distlock/connection_string.h"
#include "stores/mongodb/mongo_call.h"
#include "stores/mongodb/mongo_handles.h"
#include "stores/mongodb/mongo_pool.h"
#include "stores/mongodb/mongo_room.h"
#include "stores/mongodb/mongo_servers.h"

namespace distlock {

/// The URI with the options that this library needs set, and the limits of time where it has none
/// or longer ones. Errors: `invalid_argument`; `forked` in a child that was forked in the middle of
/// another thread's call of libmongoc.
Uri tuned_uri(const ConnectionString& connection, std::chrono::milliseconds call_limit,
              MongoServers servers = MongoServers::any);

/// How long the server may work on a command. Shorter than the socket waits, so that the server's
/// own word on the outcome comes first.
std::chrono::milliseconds server_limit(const Uri& tuned);

/// The same for each of two commands in a row.
std::chrono::milliseconds limit_of_one_of_two(std::chrono::milliseconds server_limit);

/// How long a call looks for a server that takes writes.
std::chrono::milliseconds selection_limit(const Uri& tuned);

/// The room for calls that leaves the pool connections for the bell, as it ends and begins, and for
/// a ping.
std::unique_ptr<MongoRoom> room_beside_pings(const Uri& tuned);

/// Connects and looks at the server, which is to serve with these settings. Gives the name of its
/// replica set, or nothing. Errors: `not_applied`, `permission_denied`; `invalid_argument` for a
/// server that cannot serve.
std::string check_server(const MongoPool& pool, const MongoSettings& settings,
                         const ConnectionString& connection, MongoServers servers);

}  // namespace distlock
