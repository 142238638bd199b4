#pragma once

#include <memory>
#include <string>

#include "distlock/stores.h"
#include "support/sqlite_file.h"
#include "support/store_under_test.h"
#include "support/temporary_folder.h"

namespace distlock::testing {

/// A SQLite store in a new folder. `options` are the connection string's, such as "?a=b".
class SqliteUnderTest : public StoreUnderTest {
 public:
  explicit SqliteUnderTest(const std::string& options = {})
      : connection_("sqlite:" + (folder_.path() / "locks.db").string() + options) {
    if (!connection_.durable()) file_.execute("PRAGMA synchronous = off");
  }

  std::shared_ptr<Store> open() override { return open_store(connection_); }
  void put_lock(const Document& document) override { file_.put(kLocks, document); }
  void put_ping(const Document& document) override { file_.put(kLockPings, document); }
  std::optional<Document> raw_lock(std::string_view name) override {
    return file_.raw(kLocks, name);
  }
  std::optional<Document> raw_ping(std::string_view process) override {
    return file_.raw(kLockPings, process);
  }

 private:
  TemporaryFolder folder_;
  ConnectionString connection_;
  // Makes the file, so that documents can be put before a test opens it.
  std::shared_ptr<Store> first_ = open_store(connection_);
  SqliteFile file_{connection_.path()};
};

}  // namespace distlock::testing
