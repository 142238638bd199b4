#include "stores/mongodb/mongo_pool.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "distlock/error.h"
#include "stores/mongodb/mongo_errors.h"
#include "stores/mongodb/mongo_selection.h"
#include "stores/mongodb/mongo_stream.h"

namespace distlock {
namespace {

struct DestroyPool {
  void operator()(mongoc_client_pool_t* pool) const noexcept {
    const InMongoc in;
    mongoc_client_pool_destroy(pool);
  }
};
using Pool = std::unique_ptr<mongoc_client_pool_t, DestroyPool>;

// Of none with a reason.
Clients clients_of(const Uri& uri, bson_error_t& error) {
  const InMongoc in;
  Pool pool(mongoc_client_pool_new_with_error(uri.get(), &error));
  if (!pool) return nullptr;
  mongoc_client_pool_set_error_api(pool.get(), MONGOC_ERROR_API_VERSION_2);
  mongoc_client_pool_set_appname(pool.get(), "distlock");
  guard_monitors(pool.get());
  return pool;
}

bool knows_no_server(mongoc_client_t* client) {
  std::size_t count = 0;
  mongoc_server_description_t** all = mongoc_client_get_server_descriptions(client, &count);
  mongoc_server_descriptions_destroy_all(all, count);
  return count == 0;
}

// libmongoc 1.23 has no function that tells this.
bool takes_set_for_an_old_one(const bson_error_t& error) {
  return std::string_view(error.message).find("electionId is stale") != std::string_view::npos;
}

}  // namespace

std::string opening(const ConnectionString& connection) {
  return "opening " + connection.redacted();
}

PooledClient::PooledClient(Clients pool)
    : pool_(std::move(pool)), client_(mongoc_client_pool_pop(pool_.get())) {
  // Null once waitQueueTimeoutMS has run out.
  if (client_ == nullptr) throw Error(Errc::not_applied, "no free MongoDB connection");
  guard_streams(client_);
}

MongoPool::MongoPool(const Uri& uri, const ConnectionString& connection)
    : uri_(mongoc_uri_copy(uri.get())) {
  mongoc_uri_set_option_as_int32(uri_.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS,
                                 static_cast<std::int32_t>(kOneLook.count()));
  bson_error_t error;
  clients_ = clients_of(uri_, error);
  if (!clients_) throw_error(error, Effect::reads, opening(connection));
}

Clients MongoPool::clients() const {
  const std::lock_guard guard(mutex_);
  return clients_;
}

// The old clients end with the last call that has one.
void MongoPool::renew_if_lost(const PooledClient& client, const bson_error_t& why) {
  if (!knows_no_server(client.get()) && !takes_set_for_an_old_one(why)) return;
  if (clients() != client.pool()) return;
  bson_error_t error;
  Clients renewed = clients_of(uri_, error);
  const std::lock_guard guard(mutex_);
  if (renewed && clients_ == client.pool()) clients_ = std::move(renewed);
}

}  // namespace distlock
