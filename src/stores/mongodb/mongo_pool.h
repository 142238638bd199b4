#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <mutex>
#include <string>

#include "distlock/connection_string.h"
#include "stores/mongodb/mongo_forks.h"
#include "stores/mongodb/mongo_handles.h"

namespace distlock {

/// The beginning of errors that say why a store was not opened.
std::string opening(const ConnectionString& connection);

/// Clients of libmongoc that share their connections, and what they know of the servers.
using Clients = std::shared_ptr<mongoc_client_pool_t>;

/// A client borrowed from the pool and returned to it on destruction. libmongoc's clients are
/// single-threaded, so one of these never crosses threads. Its thread is in libmongoc meanwhile.
class PooledClient {
 public:
  /// Errors: `not_applied` if none is free in time.
  explicit PooledClient(Clients pool);
  ~PooledClient() { mongoc_client_pool_push(pool_.get(), client_); }
  PooledClient(const PooledClient&) = delete;
  PooledClient& operator=(const PooledClient&) = delete;

  mongoc_client_t* get() const { return client_; }
  const Clients& pool() const { return pool_; }

 private:
  InMongoc in_;
  Clients pool_;
  mongoc_client_t* client_;
};

/// The clients for one URI, of which select_server() finds the servers. Threads: any.
class MongoPool {
 public:
  /// Nothing is connected yet. Errors: `invalid_argument`.
  MongoPool(const Uri& uri, const ConnectionString& connection);

  /// Errors: those of PooledClient.
  PooledClient client() const { return PooledClient(clients()); }

  /// After `client` found no server, for that reason. A server that once said to be of another set
  /// is left out by libmongoc for good. A set that was made anew it takes for an old one for ever.
  /// In these cases the clients from now on know nothing yet, and ask the servers of the URI. The
  /// last call that has an old client ends its connections. It may outlast its limit by that of a
  /// connection that is being made.
  void renew_if_lost(const PooledClient& client, const bson_error_t& why);

 private:
  Clients clients() const;

  const Uri uri_;
  mutable std::mutex mutex_;
  Clients clients_;  ///< Guarded by `mutex_`.
};

}  // namespace distlock
