#include <catch2/catch.hpp>

#include "process/expiry/expiries.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;

TEST_CASE("holders hear of their loss before a rival claims the lock", "[process][lifetime][R9]") {
  const TemporaryFolder folder;
  const bool in_memory = GENERATE(true, false);
  const std::string store =
      in_memory ? "memory:" : "sqlite:" + (folder.path() / "locks.db").string();
  const auto expiries = observe_expiries(ConnectionString(store), kLongLease, 500, 250);
  INFO(to_row(store, expiries));
  CHECK(expiries.size() == 500);
  CHECK(inversions(expiries) == 0);
}
