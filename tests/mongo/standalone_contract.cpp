#include "mongo/mongo_under_test.h"
#include "mongo/server.h"

namespace distlock::testing {

std::unique_ptr<StoreUnderTest> make_store_under_test() {
  return make_mongo_under_test(standalone_uri());
}

}  // namespace distlock::testing
