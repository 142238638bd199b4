#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// How many commands of ours reach the server's database during `action`, by its own profiler.
std::int64_t commands_of(const Server& server, const std::function<void()>& action) {
  server.run(doc({{"profile", 0}}));
  try {
    server.run(doc({{"drop", "system.profile"}}));
  } catch (const std::runtime_error&) {
    // There is none yet.
  }
  server.run(doc({{"profile", 2}}));
  action();
  server.run(doc({{"profile", 0}}));
  const Bson reply =
      server.run(json(R"({"count": "system.profile", "query": {"appName": "distlock"}})"));
  const auto count = find(reply.get(), "n");
  return bson_iter_as_int64(&*count);
}

}  // namespace

TEST_CASE("every operation is one command", "[mongo]") {
  const Server server(GENERATE(values({standalone_uri(), replica_set_uri()})));
  const auto store = open_mongo_store(server.connection(), {});
  store->ping("db7:1:1");
  const Claim claim = our_claim(*store);

  CHECK(commands_of(server, [&] { CHECK(store->claim("jobs", FromAbsent{}, claim)); }) == 1);
  CHECK(commands_of(server, [&] { store->inspect("jobs", Freshness::ordinary); }) == 1);
  CHECK(commands_of(server, [&] { store->inspect("jobs", Freshness::fresh); }) == 1);
  CHECK(commands_of(server, [&] { CHECK(store->carried("jobs")); }) == 1);
  CHECK(commands_of(server, [&] { store->release("jobs", kOurs); }) == 1);
  CHECK(commands_of(server, [&] { CHECK(store->claim("jobs", FromFree{}, claim)); }) == 1);
  CHECK(commands_of(server, [&] { CHECK(store->claim("jobs", FromHold{kOurs}, claim)); }) == 1);
  CHECK(commands_of(server, [&] { store->ping("db7:1:1"); }) == 1);
  CHECK(commands_of(server, [&] { store->holds("db7:1:1"); }) == 1);
  CHECK(commands_of(server, [&] { store->remove_ping("db7:1:1"); }) == 1);
}

TEST_CASE("two indexes are there after the first ping, and keep no document out", "[mongo]") {
  const Server server(standalone_uri());
  open_mongo_store(server.connection(), {})->ping("db7:1:1");
  for (const auto& [collection, name] :
       {std::pair{"locks", "state_1_process_1"}, std::pair{"lockpings", "ping_1"}}) {
    const Bson all = server.run(doc({{"listIndexes", collection}}));
    const auto made = find(all.get(), "cursor.firstBatch.1.name");
    REQUIRE(made);
    CHECK(bson_iter_utf8(&*made, nullptr) == std::string(name));
    CHECK_FALSE(find(all.get(), "cursor.firstBatch.1.unique"));
    CHECK_FALSE(find(all.get(), "cursor.firstBatch.1.expireAfterSeconds"));
    CHECK_FALSE(find(all.get(), "cursor.firstBatch.2"));
  }
}

TEST_CASE("a claim by another clock is not even sent", "[mongo][R4][R8]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  Claim claim = our_claim(*store);
  claim.cutoff.clock = "mongod:another";
  CHECK(commands_of(server, [&] { CHECK_FALSE(store->claim("jobs", FromAbsent{}, claim)); }) == 0);
  CHECK(commands_of(server, [&] {
          const Standing standing = store->line()->stand("jobs", claim);
          CHECK_FALSE((standing.hold || standing.in_line));
        }) == 0);
}

TEST_CASE("an array is not taken for its element", "[mongo][R2][R3][R14]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const std::string ts = R"({"$oid": ")" + to_hex(kOurs) + "\"}";

  SECTION("an array of the free state is not free") {
    server.put(kLocks, json(R"({"_id": "jobs", "state": [0], "who": ""})"));
    const auto before = server.raw(kLocks, "jobs");
    CHECK_FALSE(store->claim("jobs", FromFree{}, our_claim(*store)));
    CHECK(server.raw(kLocks, "jobs") == before);
  }
  SECTION("a decimal of the free state is not free") {
    server.put(kLocks, json(R"({"_id": "jobs", "state": {"$numberDecimal": "0"}, "who": ""})"));
    const auto before = server.raw(kLocks, "jobs");
    CHECK_FALSE(store->claim("jobs", FromFree{}, our_claim(*store)));
    CHECK(server.raw(kLocks, "jobs") == before);
  }
  SECTION("an array with our token is not our hold") {
    server.put(kLocks, json(R"({"_id": "jobs", "state": 1, "ts": [)" + ts + "]}"));
    CHECK_FALSE(store->claim("jobs", FromHold{kOurs}, our_claim(*store)));
    CHECK(store->release("jobs", kOurs) == ReleaseResult::not_ours);
  }
  SECTION("a decimal of the taken state is not freed") {
    server.put(kLocks,
               json(R"({"_id": "jobs", "state": {"$numberDecimal": "1"}, "ts": )" + ts + "}"));
    const auto before = server.raw(kLocks, "jobs");
    CHECK(failure_of([&] { store->release("jobs", kOurs); }) == Errc::bad_record);
    CHECK(server.raw(kLocks, "jobs") == before);
    CHECK(failure_of([&] { store->inspect("jobs", Freshness::fresh); }) == Errc::bad_record);
  }
  SECTION("an array with our process is not our hold") {
    server.put(kLocks,
               json(R"({"_id": "jobs", "state": 1, "process": ["db8:2:2", "db7:1:1"], "ts": )" +
                    ts + "}"));
    CHECK(store->holds("db7:1:1").empty());
    CHECK(store->holds("db8:2:2").empty());
  }
  SECTION("an array or a decimal of the taken state is not our hold") {
    const std::string state = GENERATE("[1]", "[0, 2]", R"({"$numberDecimal": "1"})");
    server.put(kLocks, json(R"({"_id": "jobs", "state": )" + state +
                            R"(, "process": "db7:1:1", "ts": )" + ts + "}"));
    CHECK(store->holds("db7:1:1").empty());
  }
  SECTION("an array or a decimal of the free state protects its ping") {
    const std::string state = GENERATE("[0]", "[0, 1]", R"({"$numberDecimal": "0"})");
    INFO("state " << state);
    server.put(kLocks, json(R"({"_id": "jobs", "process": "db8:2:2", "state": )" + state + "}"));
    server.put(kLockPings, json(R"({"_id": "db8:2:2", "ping": {"$date": {"$numberLong": "0"}}})"));
    CHECK(store->forget_pings(std::chrono::days{4}) == 0);
    CHECK(server.raw(kLockPings, "db8:2:2"));
  }
  SECTION("a ping that has no process is nobody's") {
    server.put(kLockPings, json(R"({"_id": null, "ping": {"$date": {"$numberLong": "0"}}})"));
    server.put(kLocks, json(R"({"_id": "jobs", "state": 0})"));
    CHECK_FALSE(store->inspect("jobs", Freshness::fresh).ping);
  }
}

TEST_CASE("a document of MongoDB's own lock manager is a hold", "[mongo][R14]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  server.put(kLocks, json(R"({"_id": "foo.c", "state": 2, "process": "sh", "term": -1,
      "ts": {"$oid": ")" + to_hex(kOurs) +
                          R"("}, "when": {"$date": {"$numberLong": "1300000000000"}},
      "who": "sh:ShardingDDLCoordinator-0", "why": "createCollection_V2"})"));
  const Inspection seen = store->inspect("foo.c", Freshness::ordinary);
  REQUIRE(seen.lock);
  CHECK(seen.lock->state == LockState::taken_by_mongodb);
  CHECK(seen.lock->process == "sh");
  CHECK(store->claim("foo.c", FromHold{kOurs}, our_claim(*store))->fence == 1);
  CHECK(find(server.run(json(R"({"find": "locks", "filter": {"_id": "foo.c"}})")).get(),
             "cursor.firstBatch.0.term"));
}

TEST_CASE("collections with many documents are listed whole", "[mongo]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  for (int i = 0; i < 250; ++i)
    server.put(kLocks, json(R"({"_id": "lock)" + std::to_string(i) + R"(", "state": 0})"));
  CHECK(store->list().locks.size() == 250);
}

TEST_CASE("long lists are read whole while others use the store", "[mongo]") {
  const Server server(GENERATE(values({standalone_uri(), replica_set_uri()})));
  const auto store = open_mongo_store(server.connection(), {});
  for (int i = 0; i < 250; ++i) {
    server.put(kLocks, json(R"({"_id": "lock)" + std::to_string(i) +
                            R"(", "state": 1, "process": "db7:1:1",)" +
                            R"("ts": {"$oid": "4d7f0000000000000000aa01"}})"));
  }
  std::atomic<bool> over = false;
  std::vector<std::jthread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&] {
      while (!over) failure_of([&] { store->ping("db7:1:1"); });
    });
  }
  int whole = 0;
  std::string message;
  for (int i = 0; i < 100; ++i) {
    const auto failed =
        failure_of([&] { whole += store->holds("db7:1:1").size() == 250; }, &message);
    if (failed) break;
  }
  over = true;
  INFO(message);
  CHECK(whole == 100);
}

TEST_CASE("every operation of a line is one command", "[mongo][line][R20][cost]") {
  const Server server(GENERATE(values({standalone_uri(), replica_set_uri()})));
  const auto store = open_mongo_store(server.connection(), {});
  Line& line = *store->line();
  store->ping("db7:1:1");
  line.ring("jobs", {"db7:1:1"});  // The bell's collection is there from now on.
  const Claim claim = our_claim(*store);
  Claim other = claim;
  other.ts = Token{{9}};
  CHECK(commands_of(server, [&] { CHECK(line.stand("jobs", claim).hold); }) == 1);
  CHECK(commands_of(server, [&] { CHECK(line.stand("jobs", other).in_line); }) == 1);
  CHECK(commands_of(server, [&] { CHECK(line.stand("jobs", other).in_line); }) == 1);
  CHECK(commands_of(server, [&] {
          line.release_and_tell("jobs", kOurs, GENERATE(ReleaseRule::quick, ReleaseRule::durable));
        }) == 1);
  CHECK(commands_of(server, [&] { line.ring("jobs", {"db7:1:1"}); }) == 1);
  CHECK(commands_of(server, [&] { line.leave("jobs", other.ts); }) == 1);
}

TEST_CASE("a document of more levels than the manual allows hides no other lock", "[mongo][R14]") {
  constexpr int kLevels = 170;
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  REQUIRE(store->claim("jobs", FromAbsent{}, our_claim(*store)));
  Bson deep = doc({});
  for (int i = 0; i < kLevels; ++i) deep = doc({{"x", std::move(deep)}});
  server.put(kLocks, doc({{"_id", "deep"}, {"state", 0}, {"why", std::move(deep)}}));
  REQUIRE(server.raw(kLocks, "deep"));
  CHECK(failure_of([&] { store->inspect("deep", Freshness::fresh); }) == Errc::bad_record);
  CHECK(store->list().locks.size() == 2);
}
