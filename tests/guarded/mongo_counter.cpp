#include "guarded/mongo_counter.h"

#include <memory>
#include <stdexcept>

#include "stores/mongodb/mongo_bson.h"

namespace distlock::testing {
namespace {

using Cursor = std::unique_ptr<mongoc_cursor_t, Deleter<mongoc_cursor_destroy>>;

}  // namespace

MongoCounter::MongoCounter(const CounterPlace& place)
    : place_(place), client_(mongoc_client_new(place.resource.c_str())) {
  if (!client_) throw std::runtime_error("no MongoDB connection string: " + place.resource);
  mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
  const char* database = mongoc_uri_get_database(mongoc_client_get_uri(client_.get()));
  locks_.reset(mongoc_client_get_collection(client_.get(), database, "locks"));
  resources_.reset(mongoc_client_get_collection(client_.get(), database, "resources"));
}

std::int64_t MongoCounter::peek() {
  const Bson query = doc({{"_id", place_.name}});
  const Cursor cursor(
      mongoc_collection_find_with_opts(resources_.get(), query.get(), nullptr, nullptr));
  const bson_t* found = nullptr;
  bson_error_t error;
  bson_iter_t value;
  const bool there = mongoc_cursor_next(cursor.get(), &found);
  if (mongoc_cursor_error(cursor.get(), &error)) throw std::runtime_error(error.message);
  return there && bson_iter_init_find(&value, found, "value") ? bson_iter_as_int64(&value) : 0;
}

bool MongoCounter::write(std::int64_t value) {
  bson_t reply;
  bson_error_t error{};
  const bool done = set_value(resources_.get(), place_.name, value, nullptr, &reply, &error);
  bson_destroy(&reply);
  if (!done) throw std::runtime_error(error.message);
  return true;
}

bool set_value(mongoc_collection_t* resources, const std::string& id, std::int64_t value,
               mongoc_client_session_t* session, bson_t* reply, bson_error_t* error) {
  const Bson query = doc({{"_id", id}});
  const Bson update = doc({{"$set", doc({{"value", value}})}});
  const Bson options = doc({{"upsert", true}});
  if (session != nullptr && !mongoc_client_session_append(session, options.get(), error)) {
    bson_init(reply);
    return false;
  }
  return mongoc_collection_update_one(resources, query.get(), update.get(), options.get(), reply,
                                      error);
}

}  // namespace distlock::testing
