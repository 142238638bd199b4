#include "distlock/stores.h"
#include "support/sqlite_file.h"
#include "support/store_under_test.h"
#include "support/temporary_folder.h"

namespace distlock::testing {
namespace {

class SqliteUnderTest : public StoreUnderTest {
 public:
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
  ConnectionString connection_{"sqlite:" + (folder_.path() / "locks.db").string()};
  // Makes the file, so that documents can be put before a test opens it.
  std::shared_ptr<Store> first_ = open_store(connection_);
  SqliteFile file_{connection_.path()};
};

}  // namespace

std::unique_ptr<StoreUnderTest> make_store_under_test() {
  return std::make_unique<SqliteUnderTest>();
}

}  // namespace distlock::testing
