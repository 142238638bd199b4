#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <map>
#include <string>

#include "distlock/connection_string.h"

namespace distlock::bench {

/// A MongoDB server as a benchmark sees it beside the library, through libmongoc alone. Open for as
/// long as the program runs.
/// Errors of its functions: std::runtime_error.
class MongodbServer {
 public:
  explicit MongodbServer(const ConnectionString& connection);

  /// Sends a command to the database of the connection string, without looking at the reply.
  void write(const bson_t* command, const bson_t* options = nullptr);
  std::int64_t count(const char* collection);
  /// For many inserts; ended by execute().
  mongoc_bulk_operation_t* begin_bulk(const char* collection);
  void execute(mongoc_bulk_operation_t* bulk);

  /// How many commands of each name that work on locks and pings the server has had so far.
  std::map<std::string, std::int64_t> commands();

 private:
  mongoc_collection_t* collection(const char* name);

  std::string database_ = "config";
  mongoc_client_t* client_;
};

/// Owned by the caller.
bson_t* bson_from_json(const char* json);

/// "2 aggregate, 1 delete"; "none". Of what is in `after` and not yet in `before`.
std::string difference(const std::map<std::string, std::int64_t>& before,
                       const std::map<std::string, std::int64_t>& after);

}  // namespace distlock::bench
