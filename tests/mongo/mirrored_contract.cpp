#include "mongo/mongo_under_test.h"
#include "mongo/server.h"
#include "support/mirrored_under_test.h"

namespace distlock::testing {
namespace {

// A database of its own, each on the next of three servers.
class Database : public StoreUnderTest {
 public:
  std::shared_ptr<Store> open() override { return store_->open(); }
  void put_lock(const Document& document) override { store_->put_lock(document); }
  void put_ping(const Document& document) override { store_->put_ping(document); }
  std::optional<Document> raw_lock(std::string_view name) override {
    return store_->raw_lock(name);
  }
  std::optional<Document> raw_ping(std::string_view process) override {
    return store_->raw_ping(process);
  }

 private:
  static std::string next_uri() {
    static std::size_t next = 0;
    const auto uris = member_uris();
    return uris.at(next++ % uris.size());
  }

  std::unique_ptr<StoreUnderTest> store_ = make_mongo_under_test(next_uri());
};

}  // namespace

std::unique_ptr<StoreUnderTest> make_store_under_test() {
  return std::make_unique<MirroredUnderTest<Database>>();
}

}  // namespace distlock::testing
