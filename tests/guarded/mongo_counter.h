#pragma once

#include <memory>
#include <string>

#include "guarded/worker.h"
#include "stores/mongodb/mongo_handles.h"

namespace distlock::testing {

using MongoClient = std::unique_ptr<mongoc_client_t, Deleter<mongoc_client_destroy>>;
using Collection = std::unique_ptr<mongoc_collection_t, Deleter<mongoc_collection_destroy>>;

/// Shared by both MongoDB workers: a client, and the writes of an unguarded program.
class MongoCounter : public Counter {
 public:
  explicit MongoCounter(const CounterPlace& place);

  void begin(const LockRecord& hold) override { hold_ = hold; }
  std::int64_t read() override { return peek(); }
  bool write(std::int64_t value) override;
  std::int64_t peek() override;

 protected:
  CounterPlace place_;
  MongoClient client_;
  Collection locks_;
  Collection resources_;
  LockRecord hold_;
};

/// Sets the value of a document, for which `session` may be null.
bool set_value(mongoc_collection_t* resources, const std::string& id, std::int64_t value,
               mongoc_client_session_t* session, bson_t* reply, bson_error_t* error);

}  // namespace distlock::testing
