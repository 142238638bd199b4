#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>

namespace distlock {

/// A new connection to `host` as the URI wants it, with TLS or without. No message was sent on it
/// yet. Null and `error` if there is none within `most_ms` milliseconds, or within the URI's limit,
/// which counts from when the host's name is known. A name is looked up without a limit.
///
/// libmongoc's own function for this is not public, so that a stream on top needs this copy of it.
mongoc_stream_t* connect_to(const mongoc_uri_t* uri, const mongoc_host_list_t* host,
                            std::int32_t most_ms, bson_error_t* error);

/// Whether a TLS connection can be begun with the URI's files and password, or none is wanted. True
/// as well if it cannot be told, for want of descriptors.
bool can_begin_tls(const mongoc_uri_t* uri);

}  // namespace distlock
