// Things of others where the bell's collection should be (R19).
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/line.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_bell_commands.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"
#include "support/captured_log.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

void insert_bell(const Server& server, Bson document) {
  const Bson reply =
      server.run(doc({{"insert", kLockBells}, {"documents", array({std::move(document)})}}));
  if (find(reply.get(), "writeErrors")) throw std::runtime_error(reply.json());
}

std::int64_t documents_in_bells(const Server& server) {
  const Bson reply = server.run(doc({{"count", kLockBells}}));
  const auto count = find(reply.get(), "n");
  return count ? bson_iter_as_int64(&*count) : -1;
}

/// A holder releases once `ready`, and a waiter, which hears of nothing, has the lock then.
void wait_without_a_bell(const Server& server, const std::function<bool()>& ready) {
  const auto store = open_mongo_store(server.connection(), {});
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  LockOptions options;
  options.recheck = 100ms;
  DistributedLock holder(pinger, "jobs", options);
  REQUIRE(holder.lock_try("x"));
  const auto other = std::make_shared<DistributedLockPinger>(
      Environment{.store = open_mongo_store(server.connection(), {})});
  auto waiter = std::async(std::launch::async, [&] {
    DistributedLock lock(other, "jobs", options);
    return lock.try_lock_for(5min) && lock.unlock() == UnlockResult::released;
  });
  wait_until("it stands in line", [&] {
    return !store->inspect("jobs", Freshness::fresh).lock->line.empty() && ready();
  });
  CHECK(holder.unlock() == UnlockResult::released);
  CHECK(waiter.get());
}

}  // namespace

TEST_CASE("where the bell cannot be used a waiter looks, and nobody fails",
          "[mongo][bell][R15][R19]") {
  const Server server(standalone_uri());
  SECTION("a view has its name") {
    server.run(doc({{"create", kLockBells}, {"viewOn", "locks"}, {"pipeline", array({})}}));
  }
  SECTION("a time series has its name") {
    try {
      server.run(doc({{"create", kLockBells}, {"timeseries", doc({{"timeField", "at"}})}}));
    } catch (const std::runtime_error& error) {
      REQUIRE_THAT(error.what(), Catch::Contains("unknown field"));
      return;  // Before MongoDB 5.0 there are none.
    }
    insert_bell(server, doc({{"at", StoreTime{480000h}}}));
  }
  SECTION("its documents must be of another shape") {
    server.run(
        json(R"({"create": ")" + std::string(kLockBells) +
             R"(", "capped": true, "size": 65536, "validator": {"none": {"$exists": true}}})"));
  }
  wait_without_a_bell(server, [] { return true; });
}

// More than a capped collection of the bell would keep.
TEST_CASE("documents of others in the bell's collection stay, and a waiter looks",
          "[mongo][bell][R15][R19]") {
  const Server server(standalone_uri());
  const std::string data(std::size_t{64} << 10, 'x');
  constexpr int kDocuments = 40;
  for (int i = 0; i != kDocuments; ++i)
    insert_bell(server, doc({{"_id", i}, {"data", std::string_view(data)}}));
  Captured log;
  wait_without_a_bell(server, [&] {
    return log.count(severity_level::warning, "other documents than rings") == 1 ||
           documents_in_bells(server) != kDocuments;
  });
  CHECK(log.count(severity_level::warning, "other documents than rings") == 1);
  CHECK(documents_in_bells(server) == kDocuments);
}

TEST_CASE("a document counts as a ring only as a ring command writes it", "[mongo][bell][R19]") {
  const Server server(standalone_uri());
  const auto others = [&](const std::string& fields) {
    INFO(fields);
    server.run(json(R"({"delete": "lockbells", "deletes": [{"q": {}, "limit": 0}]})"));
    insert_bell(server, json("{" + fields + "}"));
    return server.first(find_other_than_rings_command()).has_value();
  };
  // By default it compares no cases.
  server.run(json(R"({"create": "lockbells", "collation": {"locale": "en", "strength": 1}})"));
  CHECK_FALSE(server.first(find_other_than_rings_command()));
  for (const std::string ring : {R"("to": ["a"], "lock": "x")", R"("to": ["a", "b"], "lock": "")",
                                 R"("to": ["$a"], "lock": "$x")"}) {
    CHECK_FALSE(others(ring));
  }
  for (const std::string other :
       {R"("x": 1)", R"("to": ["a"])", R"("lock": "x")", R"("to": "a", "lock": "x")",
        R"("to": null, "lock": "x")", R"("to": {"0": "a"}, "lock": "x")",
        R"("to": ["a", 7], "lock": "x")", R"("to": [["a"]], "lock": "x")",
        R"("to": [{"a": "b"}], "lock": "x")", R"("to": ["a"], "lock": 7)",
        R"("to": ["a"], "lock": ["x"])", R"("to": ["a"], "lock": "x", "more": 1)",
        R"("to": ["a"], "to": 7, "lock": "x")", R"("_id": 7, "to": ["a"], "lock": "x")",
        R"("TO": ["a"], "LOCK": "x")"}) {
    CHECK(others(other));
  }
}

TEST_CASE("the server finds one document of others among many rings", "[mongo][bell][R19]") {
  const Server server(standalone_uri());
  for (int i = 0; i != 300; ++i) server.run(ring_command("jobs", {"a", "b"}));
  CHECK_FALSE(server.first(find_other_than_rings_command()));
  insert_bell(server, json(R"({"order": 7})"));
  CHECK(server.first(find_other_than_rings_command()));
}
