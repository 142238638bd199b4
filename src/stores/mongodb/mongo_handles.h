#pragma once

#include <mongoc/mongoc.h>

#include <memory>

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

}  // namespace distlock
