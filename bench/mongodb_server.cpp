#include "mongodb_server.h"

#include <stdexcept>

namespace distlock::bench {
namespace {

constexpr const char* kCounted[] = {"aggregate", "delete", "find",  "findAndModify",
                                    "getMore",   "insert", "update"};

void check(bool good, const bson_error_t& error) {
  if (!good) throw std::runtime_error(error.message);
}

}  // namespace

MongodbServer::MongodbServer(const ConnectionString& connection) {
  bson_error_t error;
  mongoc_uri_t* uri = mongoc_uri_new_with_error(connection.text().c_str(), &error);
  check(uri != nullptr, error);
  mongoc_uri_set_option_as_bool(uri, MONGOC_URI_RETRYWRITES, false);  // as the library
  if (const char* named = mongoc_uri_get_database(uri)) database_ = named;
  mongoc_client_pool_t* pool = mongoc_client_pool_new_with_error(uri, &error);
  check(pool != nullptr, error);
  client_ = mongoc_client_pool_pop(pool);
}

void MongodbServer::write(const bson_t* command, const bson_t* options) {
  bson_t reply;
  bson_error_t error;
  const bool good = mongoc_client_write_command_with_opts(client_, database_.c_str(), command,
                                                          options, &reply, &error);
  bson_destroy(&reply);
  check(good, error);
}

mongoc_collection_t* MongodbServer::collection(const char* name) {
  return mongoc_client_get_collection(client_, database_.c_str(), name);
}

mongoc_bulk_operation_t* MongodbServer::begin_bulk(const char* name) {
  mongoc_collection_t* to = collection(name);
  mongoc_bulk_operation_t* bulk = mongoc_collection_create_bulk_operation_with_opts(to, nullptr);
  mongoc_collection_destroy(to);
  return bulk;
}

void MongodbServer::execute(mongoc_bulk_operation_t* bulk) {
  bson_t reply;
  bson_error_t error;
  const bool good = mongoc_bulk_operation_execute(bulk, &reply, &error) != 0;
  bson_destroy(&reply);
  mongoc_bulk_operation_destroy(bulk);
  check(good, error);
}

std::int64_t MongodbServer::count(const char* name) {
  mongoc_collection_t* of = collection(name);
  bson_error_t error;
  const std::int64_t count =
      mongoc_collection_estimated_document_count(of, nullptr, nullptr, nullptr, &error);
  mongoc_collection_destroy(of);
  check(count >= 0, error);
  return count;
}

std::map<std::string, std::int64_t> MongodbServer::commands() {
  bson_t command = BSON_INITIALIZER;
  BSON_APPEND_INT32(&command, "serverStatus", 1);
  bson_t reply;
  bson_error_t error;
  const bool good =
      mongoc_client_command_simple(client_, "admin", &command, nullptr, &reply, &error);
  std::map<std::string, std::int64_t> totals;
  for (const char* name : kCounted) {
    bson_iter_t at;
    bson_iter_t total;
    const std::string path = std::string("metrics.commands.") + name + ".total";
    if (good && bson_iter_init(&at, &reply) && bson_iter_find_descendant(&at, path.c_str(), &total))
      totals[name] = bson_iter_as_int64(&total);
  }
  bson_destroy(&reply);
  check(good, error);
  return totals;
}

bson_t* bson_from_json(const char* json) {
  bson_error_t error;
  bson_t* document = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json), -1, &error);
  check(document != nullptr, error);
  return document;
}

std::string difference(const std::map<std::string, std::int64_t>& before,
                       const std::map<std::string, std::int64_t>& after) {
  std::string text;
  for (const auto& [name, total] : after) {
    const auto found = before.find(name);
    const std::int64_t more = total - (found == before.end() ? 0 : found->second);
    if (more != 0) text += (text.empty() ? "" : ", ") + std::to_string(more) + ' ' + name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace distlock::bench
