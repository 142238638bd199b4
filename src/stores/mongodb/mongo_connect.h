#pragma once

#include <mongoc/mongoc.h>

namespace distlock {

/// A new connection to `host` as the URI wants it, with TLS or without. Nothing of MongoDB's has
/// been said on it yet. Null and `error` if there is none.
///
/// libmongoc's own way to make one is not open to who wants to put something on top of it.
mongoc_stream_t* connect_to(const mongoc_uri_t* uri, const mongoc_host_list_t* host,
                            bson_error_t* error);

}  // namespace distlock
