#pragma once

#include <mongoc/mongoc.h>

#include <memory>

#include "stores/mongodb/mongo_forks.h"

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

}  // namespace distlock
