#include <atomic>
#include <catch2/catch.hpp>
#include <set>

#include "distlock/clock.h"
#include "distlock/stores.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mirrored/member.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

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

// That nothing is there, and that a ping is confirmed.
Bson answer_of_member(const Bson& command) {
  if (find(command.get(), "findAndModify"))
    return json(R"({"ok": 1, "value": {"_id": "a", "ping": {"$date": {"$numberLong": "0"}}}})");
  return json(R"({"ok": 1, "cursor": {"id": 0, "firstBatch": []}})");
}

}  // namespace

TEST_CASE("a member of a mirrored store that is of a replica set is refused at open",
          "[mirrored][M7]") {
  const bool primary = GENERATE(true, false);
  MockServer first(hello(standalone_hello()));
  MockServer second(hello(standalone_hello()));
  // They are empty, so that there is no set that could do without the third.
  first.answer_with(answer_of_member);
  second.answer_with(answer_of_member);
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

TEST_CASE("a member that cannot be used does not end a wait for another that is away",
          "[mirrored][M2]") {
  MockServer first(hello(standalone_hello()));
  first.answer_with(answer_of_member);
  MockServer second(hello(standalone_hello()));
  second.hello_with(hello(member_hello(true, {second.port()})));
  // Nobody listens on port 1.
  const ConnectionString connection(string_of({second.port(), first.port(), 1}));
  std::string message;
  CHECK(failure_of([&] { open_store(connection, {.call_limit = 8s}); }, &message) ==
        Errc::not_applied);
  CHECK_THAT(message, Catch::Contains("this is a member of a replica set") &&
                          Catch::Contains("127.0.0.1:1"));
}

TEST_CASE("a member on a slow server is pinged in time beside all other calls that are made of it",
          "[mirrored][M2][R9]") {
  std::atomic<bool> slow = true;
  std::atomic<std::size_t> held = 0;
  std::atomic<std::size_t> in_vain = 0;
  MockServer server(hello(standalone_hello()));
  server.answer_with(answer_of_member);
  // A command is asked about again and again.
  server.hold_back_while([&, all = std::set<std::string>{}](const Bson& command) mutable {
    if (command.json().find("of a caller") == std::string::npos) return false;
    all.insert(command.json());
    held = all.size();
    return slow.load();
  });
  const auto store =
      open_mongo_store(ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) +
                                        "/?maxPoolSize=8&waitQueueTimeoutMS=100"),
                       {.call_limit = 60s}, MongoServers::standalone);
  mirrored::Member member(store, {0, 3}, host_clock(), std::make_shared<mirrored::KnownReturns>());
  constexpr std::size_t kCalls = 2 * mirrored::kCallsAtOnce;
  for (std::size_t caller = 0; caller != kCalls; ++caller) {
    const auto kind = caller % 2 == 0 ? mirrored::CallKind::read : mirrored::CallKind::write;
    member.workers(kind).add([&, name = std::to_string(caller) + " of a caller"] {
      if (failure_of([&] { store->inspect(name, Freshness::fresh); })) ++in_vain;
    });
  }
  wait_until("all calls to be made", [&] { return held + in_vain >= kCalls; });
  CHECK(failure_of([&] { member.ping("a", {}, kOurs); }) == std::nullopt);
  CHECK(in_vain == 0);
  slow = false;
}

TEST_CASE("a server that is not in its replica set yet is refused as a member", "[mirrored][M7]") {
  const MockServer ghost(hello(standalone_hello() + R"(, "isreplicaset": true)"));
  const ConnectionString connection("mongodb://127.0.0.1:" + std::to_string(ghost.port()) + "/");
  std::string message;
  CHECK(failure_of(
            [&] { open_mongo_store(connection, {.call_limit = 4s}, MongoServers::standalone); },
            &message) == Errc::invalid_argument);
  CHECK_THAT(message, Catch::Contains("this is a member of a replica set"));
}
