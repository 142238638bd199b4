#pragma once

#include <mongoc/mongoc.h>

#include <chrono>

#include "stores/mongodb/mongo_handles.h"

namespace distlock {

/// A pool is told to look for a server for so long at a time. A fork waits for the end of that. And
/// libmongoc waits by the wall clock: where somebody sets that back meanwhile, the look lasts as
/// much longer.
inline constexpr std::chrono::milliseconds kOneLook{1};

/// The server that takes writes. Null, with the reason in `error`, if none is known within `most`.
ServerDescription select_server(mongoc_client_t* client, std::chrono::milliseconds most,
                                bson_error_t& error);

}  // namespace distlock
