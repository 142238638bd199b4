// Single calls: their commands and results, and one that waits for no other.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"
#include "support/open_descriptors.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

bool is_a(const Bson& command, const char* name) { return find(command.get(), name).has_value(); }

// Of a server that confirms each ping of "db7".
Bson confirm_pings(const Bson& command) {
  if (!is_a(command, "findAndModify")) return json(R"({"ok": 1})");
  const std::string ping = R"("ping": {"$date": {"$numberLong": "0"}}})";
  return json(R"({"ok": 1, "value": {"_id": "db7", )" + ping + "}");
}

/// A store on a server that answers as it is told.
struct Served {
  explicit Served(const MockServer::Answer& answer, const std::string& options = "") {
    server.answer_with(answer);
    store = open_mongo_store(
        ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/?" + options),
        {.call_limit = 60s});
    server.forget_commands();
  }

  MockServer server{json("{" + standalone_hello() + "}")};
  std::shared_ptr<Store> store;
};

}  // namespace

TEST_CASE("a store makes the collection of bells before its first ring, and once",
          "[mongo][bell][R19]") {
  Served served([](const Bson&) { return json(R"({"ok": 1})"); });
  for (int i = 0; i < 2; ++i) served.store->line()->ring("jobs", {"db7"});
  std::string sent;
  for (const Bson& command : served.server.commands()) {
    if (is_a(command, "create")) sent += "create ";
    if (is_a(command, "insert")) sent += "insert ";
  }
  CHECK(sent == "create insert insert ");
}

TEST_CASE("a cleanup counts the pings that were removed, and not those that were old",
          "[mongo][R13]") {
  Served served([](const Bson& command) {
    if (is_a(command, "delete")) return json(R"({"ok": 1, "n": 1})");
    const std::string ping = R"("ping": {"$date": {"$numberLong": "0"}}})";
    return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "0"}, "firstBatch": [{"_id": "a", )" +
                ping + R"(, {"_id": "b", )" + ping + "]}}");
  });
  CHECK(served.store->forget_pings(96h) == 1);
}

TEST_CASE("the removal of a ping waits for no other call", "[mongo][R12]") {
  std::atomic<bool> slow = true;
  Served served(
      [](const Bson& command) {
        if (is_a(command, "aggregate"))
          return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "0"}, "firstBatch": []}})");
        return json(R"({"ok": 1, "value": null})");
      },
      "maxPoolSize=8&waitQueueTimeoutMS=100");
  served.server.hold_back_while(
      [&](const Bson& command) { return is_a(command, "aggregate") && slow; });
  std::atomic<bool> full = false;
  std::vector<std::future<void>> calls;
  for (int call = 0; call != 8; ++call) {
    calls.push_back(std::async(std::launch::async, [&] {
      if (failure_of([&] { served.store->inspect("jobs", Freshness::ordinary); })) full = true;
    }));
  }
  wait_until("a call to find no place", [&] { return full.load(); });
  CHECK(failure_of([&] { served.store->remove_ping("db7"); }) == std::nullopt);
  slow = false;
}

TEST_CASE("a limit of the socket in the connection string ends a call that has more time",
          "[mongo][R12]") {
  std::atomic<bool> answers = false;
  Served served([](const Bson&) { return json(R"({"ok": 1, "value": null})"); },
                "socketTimeoutMS=1000");
  served.server.hold_back_while([&](const Bson&) { return !answers; });
  auto release = std::async(std::launch::async, [&] {
    return failure_of([&] { served.store->release("jobs", kOurs); });
  });
  const bool ended = release.wait_for(20s) == std::future_status::ready;
  answers = true;
  CHECK(ended);
  CHECK(release.get() == Errc::outcome_unknown);
}

TEST_CASE("a ping finds a connection, however many threads wait in line",
          "[mongo][line][R9][R12]") {
  std::atomic<bool> slow = true;
  std::atomic<bool> full = false;
  Served served(confirm_pings, "maxPoolSize=8&waitQueueTimeoutMS=100");
  served.server.hold_back_while([&](const Bson& command) {
    const auto collection = find(command.get(), "findAndModify");
    return slow && collection && BSON_ITER_HOLDS_UTF8(&*collection) &&
           std::string_view(bson_iter_utf8(&*collection, nullptr)) == kLocks;
  });
  const Claim claim = our_claim_until(
      {StoreTime{480000h}, "mongod:127.0.0.1:" + std::to_string(served.server.port())});
  std::vector<std::future<void>> waits;
  for (int wait = 0; wait != 12; ++wait) {
    waits.push_back(std::async(std::launch::async, [&] {
      if (failure_of([&] { served.store->line()->stand("jobs", claim); })) full = true;
    }));
  }
  wait_until("a wait to find no place", [&] { return full.load(); });
  CHECK(failure_of([&] { served.store->ping("db7"); }) == std::nullopt);
  slow = false;
}

TEST_CASE("a first ping that met another of its process was not applied", "[mongo][R8]") {
  const Served served([](const Bson& command) {
    if (!is_a(command, "findAndModify")) return json(R"({"ok": 1})");
    return json(R"({"ok": 0, "code": 11000, "errmsg": "dup", "keyPattern": {"_id": 1}})");
  });
  CHECK(failure_of([&] { served.store->ping("db7"); }) == Errc::not_applied);
}

TEST_CASE("a first ping that finds no primary leaves the indexes to the next one",
          "[mongo][R9][R12]") {
  Served served(confirm_pings, "directConnection=true");
  const auto ping = [&] { return failure_of([&] { served.store->ping("db7"); }); };
  served.server.hello_with(json("{" + member_hello(false, {served.server.port()}) + "}"));
  wait_until("the driver to know that it is no primary", [&] {
    std::string message;
    failure_of([&] { served.store->release("jobs", kOurs); }, &message);
    return message.find("no primary now") != message.npos;
  });
  served.server.forget_commands();
  REQUIRE(ping() == Errc::not_applied);
  REQUIRE(served.server.commands().empty());
  served.server.hello_with(json("{" + standalone_hello() + "}"));
  wait_until("the driver to know that it takes writes again", [&] { return !ping(); });
  const auto sent = served.server.commands();
  CHECK(std::count_if(sent.begin(), sent.end(),
                      [](const Bson& one) { return is_a(one, "createIndexes"); }) == 2);
}

TEST_CASE("a connection to a MongoDB server that breaks leaves no descriptor open",
          "[mongo][R12]") {
  Served served(confirm_pings);
  const auto ping = [&] { return failure_of([&] { served.store->ping("db7"); }); };
  REQUIRE_FALSE(ping());
  const auto before = distlock::testing::open_descriptors();
  // No message is so long.
  served.server.spoil_with([](std::string& message) { message[3] = '\x7f'; });
  for (int i = 0; i < 5; ++i) CHECK(ping() == Errc::outcome_unknown);
  // Both ends are of this process, and the server closes its own later.
  const auto closed = [&] { return distlock::testing::open_descriptors() <= before; };
  CHECK_NOTHROW(wait_until("the connections to be closed", closed, 1min));
}
