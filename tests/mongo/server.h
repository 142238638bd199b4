#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/connection_string.h"
#include "stores/document.h"
#include "stores/mongodb/mongo_bson.h"
#include "stores/mongodb/mongo_handles.h"

namespace distlock::testing {

/// A variable that tools/with-mongod sets. Throws if it is not set: these tests need a real server
/// and are never skipped.
std::string required_variable(const char* name);

inline std::string standalone_uri() { return required_variable("DISTLOCK_MONGODB_STANDALONE_URI"); }
inline std::string replica_set_uri() {
  return required_variable("DISTLOCK_MONGODB_REPLICA_SET_URI");
}
inline std::string ahead_set_uri() { return required_variable("DISTLOCK_MONGODB_AHEAD_SET_URI"); }

/// The three servers that do not know each other, as members of a mirrored store.
std::vector<std::string> member_uris();

/// Waits until `condition` is true; throws after `limit`. `what` is for that message.
void wait_until(std::string_view what, const std::function<bool()>& condition,
                std::chrono::minutes limit = std::chrono::minutes{5});

/// A database of its own on a running server, as another program would use it. Dropped at the end.
class Server {
 public:
  explicit Server(const std::string& uri);
  /// On the database of another, which drops it.
  Server(const std::string& uri, std::string database);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// For a store on this database. `options` are more of the URI's, such as "appName=x".
  ConnectionString connection(const std::string& options = {}) const;
  const std::string& database() const { return database_; }

  /// The reply, which must be `ok`; throws otherwise.
  Bson run(const Bson& command) const { return run(database_, command); }
  Bson admin(const Bson& command) const { return run("admin", command); }

  Bson run(const std::string& database, const Bson& command) const;

  void put(std::string_view collection, const Bson& document) const;
  std::optional<Document> raw(std::string_view collection, std::string_view id) const;
  /// The first document that `command`, an aggregate or a find, gives.
  std::optional<Document> first(const Bson& command) const;

 private:
  std::string uri_;
  std::string database_;
  bool drops_ = true;
  std::unique_ptr<mongoc_client_t, Deleter<mongoc_client_destroy>> client_;
};

/// From extended JSON.
Bson json(const std::string& text);

/// A document as a test writes it, in BSON; a Foreign becomes an array that holds one string.
Bson bson_from(const Document& document);

}  // namespace distlock::testing
