#include <catch2/catch.hpp>

#include "mongo/server.h"
#include "process/expiry/expiries.h"

using namespace distlock::testing;

TEST_CASE("on MongoDB, too, holders hear of their loss before a rival claims the lock",
          "[mongo][lifetime][R9]") {
  const Server server(GENERATE(standalone_uri(), replica_set_uri()));
  const auto expiries = observe_expiries(server.connection(), kLongLease, 50, 50);
  INFO(to_row(server.database(), expiries));
  CHECK(expiries.size() == 50);
  CHECK(inversions(expiries) == 0);
}
