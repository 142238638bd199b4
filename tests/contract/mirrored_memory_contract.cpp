#include "support/memory_under_test.h"
#include "support/mirrored_under_test.h"

namespace distlock::testing {

std::unique_ptr<StoreUnderTest> make_store_under_test() {
  return std::make_unique<MirroredUnderTest<MemoryUnderTest>>();
}

}  // namespace distlock::testing
