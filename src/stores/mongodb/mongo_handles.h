#pragma once

#include <mongoc/mongoc.h>

#include <memory>

#include "distlock/error.h"
#include "stores/mongodb/mongo_forks.h"
#include "stores/mongodb/mongo_stream.h"

namespace distlock {

// Owners for libmongoc handles: one line a handle, no members, no cost. Functions take raw pointers
// to borrow and these types to own.
template <auto Destroy>
struct Deleter {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    Destroy(handle);
  }
};
using Uri = std::unique_ptr<mongoc_uri_t, Deleter<mongoc_uri_destroy>>;
using ServerDescription =
    std::unique_ptr<mongoc_server_description_t, Deleter<mongoc_server_description_destroy>>;
using ClientSession =
    std::unique_ptr<mongoc_client_session_t, Deleter<mongoc_client_session_destroy>>;

struct DestroyPool {
  void operator()(mongoc_client_pool_t* pool) const noexcept {
    const InMongoc in;
    mongoc_client_pool_destroy(pool);
  }
};
using Pool = std::unique_ptr<mongoc_client_pool_t, DestroyPool>;

/// A client borrowed from the pool and returned to it on destruction. libmongoc's clients are
/// single-threaded, so one of these never crosses threads. Its thread is in libmongoc meanwhile.
class PooledClient {
 public:
  explicit PooledClient(mongoc_client_pool_t* pool)
      : pool_(pool), client_(mongoc_client_pool_pop(pool)) {
    // Null once waitQueueTimeoutMS has run out.
    if (client_ == nullptr) throw Error(Errc::not_applied, "no free MongoDB connection");
    guard_streams(client_);
  }
  ~PooledClient() { mongoc_client_pool_push(pool_, client_); }
  PooledClient(const PooledClient&) = delete;
  PooledClient& operator=(const PooledClient&) = delete;

  mongoc_client_t* get() const { return client_; }

 private:
  InMongoc in_;
  mongoc_client_pool_t* pool_;
  mongoc_client_t* client_;
};

}  // namespace distlock
