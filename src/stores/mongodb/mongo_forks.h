#pragma once

#include <mongoc/mongoc.h>

#include "stores/forks_between_calls.h"

// libmongoc has a lock for the whole process, which guards what its threads know of the servers.
// OpenSSL and the look-up of names have such locks, too. A child of fork() that inherits one locked
// would wait for it for ever.
namespace distlock {

/// While it lives, this thread may be in the middle of a call of libmongoc.
struct InMongoc : InCallOf {
  InMongoc() : InCallOf(Library::libmongoc) {}
};

/// While it lives, this thread waits in libmongoc for a server, and holds none of those locks.
struct WaitInMongoc : WaitInCallOf {
  WaitInMongoc() : WaitInCallOf(Library::libmongoc) {}
};

/// The stream of a socket, as one whose waits hold up no fork. Null if there is no memory; then the
/// socket is closed.
mongoc_stream_t* with_waits_beside_forks(mongoc_stream_t* socket);

}  // namespace distlock
