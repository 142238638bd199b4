#include "mongo/mongo_under_test.h"

#include "mongo/server.h"
#include "stores/mongodb/mongo_store.h"

namespace distlock::testing {
namespace {

class MongoUnderTest : public StoreUnderTest {
 public:
  explicit MongoUnderTest(const std::string& uri) : server_(uri) {}

  std::shared_ptr<Store> open() override { return open_mongo_store(server_.connection(), {}); }
  void put_lock(const Document& document) override { server_.put(kLocks, bson_from(document)); }
  void put_ping(const Document& document) override { server_.put(kLockPings, bson_from(document)); }
  std::optional<Document> raw_lock(std::string_view name) override {
    return server_.raw(kLocks, name);
  }
  std::optional<Document> raw_ping(std::string_view process) override {
    return server_.raw(kLockPings, process);
  }

 private:
  Server server_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> make_mongo_under_test(const std::string& uri) {
  return std::make_unique<MongoUnderTest>(uri);
}

}  // namespace distlock::testing
