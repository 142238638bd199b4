#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

namespace distlock::testing {

inline constexpr std::chrono::seconds kCallLimit{20};
inline constexpr std::int64_t kServerLimitMs = 18'000;  // nine tenths of it

inline std::string text_at(const Bson& command, const char* path) {
  const auto found = find(command.get(), path);
  return found && BSON_ITER_HOLDS_UTF8(&*found) ? bson_iter_utf8(&*found, nullptr) : "";
}

inline std::int64_t number_at(const Bson& command, const char* path) {
  const auto found = find(command.get(), path);
  return found && BSON_ITER_HOLDS_INT(&*found) ? bson_iter_as_int64(&*found) : -1;
}

inline std::string name_of(const Bson& command) {
  bson_iter_t first;
  bson_iter_init(&first, command.get());
  bson_iter_next(&first);
  return bson_iter_key(&first);
}

/// One old ping, so that it is removed, for everybody who asks for documents.
inline Bson answer_to(const Bson& command) {
  const std::string name = name_of(command);
  if (name == "isMaster") return json("{" + standalone_hello() + "}");
  if (name == "aggregate" || name == "find")
    return json(R"({"ok": 1, "cursor": {"id": 0, "ns": "config.lockpings", "firstBatch": [
        {"_id": "gone", "lock": {"_id": "jobs", "state": 0}, "ping": [],
         "now": {"$date": {"$numberLong": "0"}}},
        {"_id": "gone", "ping": {"$date": {"$numberLong": "0"}}, "clock": "mongod:x"}]}})");
  return json(R"({"ok": 1, "n": 1, "value": null})");
}

/// A store on a server of its own, whose address is its clock.
struct Recorded {
  MockServer server;
  std::shared_ptr<Store> store;

  explicit Recorded(bool replica_set) : server(json("{" + standalone_hello() + "}")) {
    if (replica_set) server.hello_with(json("{" + member_hello(true, {server.port()}) + "}"));
    server.answer_with(answer_to);
    store = open_mongo_store(
        ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
        {.call_limit = kCallLimit});
  }

  std::vector<Bson> sent_by(const std::function<void(Store&)>& call) {
    server.forget_commands();
    failure_of([&] { call(*store); });
    return server.commands();
  }

  Claim claim() const {
    return our_claim_until({StoreTime{}, "mongod:127.0.0.1:" + std::to_string(server.port())});
  }
};

}  // namespace distlock::testing
