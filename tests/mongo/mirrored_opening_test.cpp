#include <catch2/catch.hpp>

#include "distlock/clock.h"
#include "distlock/stores.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"

// Mirrored stores of MongoDB servers that a connection string names. Without a real server.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

Bson hello(const std::string& fields) { return json('{' + fields + '}'); }

std::string string_of(const std::vector<int>& ports) {
  std::string hosts;
  for (const int port : ports) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return "mirrored+mongodb://" + hosts + "/";
}

}  // namespace

TEST_CASE("a member of a mirrored store that is of a replica set is refused at open",
          "[mirrored][M7]") {
  const bool primary = GENERATE(true, false);
  const MockServer first(hello(standalone_hello()));
  const MockServer second(hello(standalone_hello()));
  MockServer third(hello(standalone_hello()));
  third.hello_with(hello(member_hello(primary, {third.port()})));
  const ConnectionString connection(string_of({first.port(), second.port(), third.port()}));
  std::string message;
  CHECK(failure_of([&] { open_store(connection); }, &message) == Errc::invalid_argument);
  CHECK_THAT(message, Catch::Contains("this is a member of a replica set") &&
                          Catch::Contains(std::to_string(third.port())));
}

TEST_CASE("a minority of servers that are away does not keep a mirrored store from opening",
          "[mirrored][M2]") {
  const MockServer first(hello(standalone_hello()));
  const MockServer second(hello(standalone_hello()));
  // Nobody listens on port 1.
  const ConnectionString connection(string_of({first.port(), second.port(), 1}));
  const auto store = open_store(connection, {.call_limit = 20s});
  CHECK(store->call_limit() == 20s);
  CHECK_THAT(store->description(), Catch::Contains("127.0.0.1:1/"));
}
