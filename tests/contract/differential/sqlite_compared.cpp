#include "support/sqlite_under_test.h"

namespace distlock::testing {

// Nothing crashes here, and waiting for the disk would be nearly all of the time.
std::unique_ptr<StoreUnderTest> make_store_under_test() {
  return std::make_unique<SqliteUnderTest>("?synchronous=off");
}

}  // namespace distlock::testing
