// The commands of each call: concerns, limits of time, and to which server. From a server that
// keeps the commands, since a real one answers alike where they are weaker, until it fails.
#include <algorithm>
#include <catch2/catch.hpp>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/recorded.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_call.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_open.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A set of two, of which the first is primary to begin with.
struct TwoMembers {
  MockServer first{json("{" + standalone_hello() + "}")};
  MockServer second{json("{" + standalone_hello() + "}")};
  const MongoSettings settings{"config", 3600ms};
  std::unique_ptr<MongoPool> pool;

  TwoMembers() {
    primary_is_first(true);
    first.answer_with(answer_to);
    second.answer_with(answer_to);
    const ConnectionString connection("mongodb://127.0.0.1:" + std::to_string(first.port()) +
                                      ",127.0.0.1:" + std::to_string(second.port()) +
                                      "/?replicaSet=rs");
    pool = std::make_unique<MongoPool>(tuned_uri(connection, kCallLimit), connection);
  }

  void primary_is_first(bool is) {
    const int one = first.port();
    const int two = second.port();
    first.hello_with(json("{" + member_hello(is, {one, two}) + "}"));
    second.hello_with(json("{" + member_hello(!is, {two, one}) + "}"));
  }

  /// Until the driver knows it.
  void make_second_primary() {
    primary_is_first(false);
    const std::string clock = "mongod:127.0.0.1:" + std::to_string(second.port());
    wait_until("the second as primary", [&] {
      try {
        return MongoCall(*pool, settings, {"test", ""}).clock() == clock;
      } catch (const Error&) {
        return false;
      }
    });
  }
};

Bson empty_batch(const Bson& command) {
  const std::string batch = name_of(command) == "getMore" ? "nextBatch" : "firstBatch";
  return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "77"}, ")" + batch + R"(": []}})");
}

using Calls = std::vector<std::function<void(Store&)>>;

const Calls kOrdinaryReads{
    [](Store& store) { store.inspect("jobs", Freshness::ordinary); },
    [](Store& store) { static_cast<void>(store.holds("db7:1:1")); },
    [](Store& store) { static_cast<void>(store.list()); },
    [](Store& store) { static_cast<void>(store.line()->list_waits({"jobs"})); },
    [](Store& store) { store.forget_pings(96h); },
};

bool writes(const Bson& command) {
  const std::string name = name_of(command);
  return name == "findAndModify" || name == "delete" || name == "createIndexes";
}

// The removal of old pings is one call of two commands, and so are the indexes.
std::int64_t limit_of(const Bson& command) {
  const bool of_two = find(command.get(), "delete") || find(command.get(), "createIndexes") ||
                      text_at(command, "aggregate") == "lockpings";
  return of_two ? kServerLimitMs / 2 : kServerLimitMs;
}

}  // namespace

TEST_CASE("every write asks for a majority and the journal", "[mongo][R8]") {
  Recorded scene(GENERATE(true, false));
  std::vector<Bson> sent;
  const auto collect = [&](const std::function<void(Store&)>& call) {
    for (Bson& command : scene.sent_by(call)) sent.push_back(std::move(command));
  };
  for (const ClaimBasis& basis : {ClaimBasis{FromAbsent{}}, {FromFree{}}, {FromHold{kOurs}}})
    collect([&](Store& store) { store.claim("jobs", basis, scene.claim()); });
  collect([](Store& store) { store.release("jobs", kOurs); });
  collect([&](Store& store) { store.line()->stand("jobs", scene.claim()); });
  collect([](Store& store) { store.line()->leave("jobs", kOurs); });
  collect([](Store& store) { store.ping("db7:1:1"); });
  collect([](Store& store) { store.remove_ping("db7:1:1"); });
  collect([](Store& store) { store.forget_pings(96h); });
  std::erase_if(sent, [](const Bson& command) { return !writes(command); });
  // Three claims, a release, a place in line and its end, a ping with two indexes, its removal, and
  // the removal of old ones.
  REQUIRE(sent.size() == 11);
  for (const Bson& command : sent) {
    INFO(command.json());
    CHECK(text_at(command, "writeConcern.w") == "majority");
    const auto journal = find(command.get(), "writeConcern.j");
    CHECK((journal && bson_iter_as_bool(&*journal)));
    CHECK(number_at(command, "writeConcern.wtimeout") == limit_of(command));
    CHECK(number_at(command, "maxTimeMS") == limit_of(command));
    CHECK_FALSE(find(command.get(), "readConcern"));
  }
}

TEST_CASE("a quick release asks for the primary's word alone, a durable one for a majority",
          "[mongo][R3][cost]") {
  Recorded scene(GENERATE(true, false));
  const bool quick = GENERATE(true, false);
  const auto rule = quick ? ReleaseRule::quick : ReleaseRule::durable;
  const std::vector<Bson> sent =
      scene.sent_by([&](Store& store) { store.line()->release_and_tell("jobs", kOurs, rule); });
  REQUIRE(sent.size() == 1);
  INFO(sent.front().json());
  CHECK(number_at(sent.front(), "writeConcern.w") == (quick ? 1 : -1));
  CHECK(text_at(sent.front(), "writeConcern.w") == (quick ? "" : "majority"));
  const auto journal = find(sent.front().get(), "writeConcern.j");
  CHECK((journal && bson_iter_as_bool(&*journal) == !quick));
  CHECK(number_at(sent.front(), "maxTimeMS") == kServerLimitMs);
}

TEST_CASE("an ordinary look at a set shows what the primary has, and a list what a majority has",
          "[mongo][R3][R6][cost]") {
  const bool replica_set = GENERATE(true, false);
  Recorded scene(replica_set);
  for (std::size_t i = 0; i < kOrdinaryReads.size(); ++i) {
    const bool is_look = i == 0;
    for (const Bson& command : scene.sent_by(kOrdinaryReads[i])) {
      if (writes(command) || name_of(command) == "isMaster") continue;
      INFO(command.json());
      const std::string level = replica_set && !is_look ? "majority" : "local";
      CHECK(text_at(command, "readConcern.level") == level);
    }
  }
}

TEST_CASE("a fresh read of a set is linearizable", "[mongo][R6]") {
  const bool replica_set = GENERATE(true, false);
  Recorded scene(replica_set);
  const auto sent = scene.sent_by([](Store& store) { store.inspect("jobs", Freshness::fresh); });
  REQUIRE(sent.size() == 1);
  CHECK(text_at(sent[0], "readConcern.level") == (replica_set ? "linearizable" : "local"));
  CHECK(scene.store->inspect("jobs", Freshness::fresh).fresh);
  CHECK(scene.store->inspect("jobs", Freshness::ordinary).fresh == !replica_set);
}

TEST_CASE("the fate of a claim is read from a primary that still is one", "[mongo][R8][R6]") {
  const bool replica_set = GENERATE(true, false);
  Recorded scene(replica_set);
  const auto sent = scene.sent_by([](Store& store) { static_cast<void>(store.carried("jobs")); });
  REQUIRE(sent.size() == 1);
  CHECK(text_at(sent[0], "readConcern.level") == (replica_set ? "linearizable" : "local"));
}

TEST_CASE("a list is told the time after its reads, so that no ping is later", "[mongo][R4]") {
  Recorded scene(GENERATE(true, false));
  const auto sent = scene.sent_by([](Store& store) { static_cast<void>(store.list()); });
  REQUIRE(sent.size() == 3);
  CHECK(text_at(sent[0], "find") == "locks");
  CHECK(text_at(sent[1], "find") == "lockpings");
  CHECK(name_of(sent[2]) == "isMaster");
}

TEST_CASE("the server is told how long it may work on each read", "[mongo]") {
  Recorded scene(GENERATE(true, false));
  for (const auto& call : kOrdinaryReads) {
    for (const Bson& command : scene.sent_by(call)) {
      INFO(command.json());
      CHECK(number_at(command, "maxTimeMS") == limit_of(command));
    }
  }
}

TEST_CASE("a long list is asked for in one session, and each part from its cursor", "[mongo]") {
  Recorded scene(true);
  scene.server.answer_with([](const Bson& command) {
    if (name_of(command) != "getMore")
      return json(R"({"ok": 1, "cursor": {"id":
        {"$numberLong": "77"}, "firstBatch": [{"_id": "a"}]}})");
    return json(R"({"ok": 1, "cursor": {"id": 0, "nextBatch": [{"_id": "b"}]}})");
  });
  const auto sent = scene.sent_by([](Store& store) { static_cast<void>(store.holds("db7:1:1")); });
  REQUIRE(sent.size() == 2);
  CHECK(number_at(sent[1], "getMore") == 77);
  CHECK(text_at(sent[1], "collection") == "locks");
  // A server refuses both of these.
  CHECK_FALSE(find(sent[1].get(), "maxTimeMS"));
  CHECK_FALSE(find(sent[1].get(), "readConcern"));
  const auto session = find(sent[0].get(), "lsid.id");
  const auto again = find(sent[1].get(), "lsid.id");
  REQUIRE((session && again));
  const auto bytes_of = [](const Found& id) {
    std::uint32_t size = 0;
    const std::uint8_t* bytes = nullptr;
    bson_iter_binary(&id, nullptr, &size, &bytes);
    return std::string(bytes, bytes + size);
  };
  CHECK(bytes_of(*session) == bytes_of(*again));
}

// The answers and stamps of two servers are by two clocks.
TEST_CASE("a call goes to the server that it began with, whatever becomes primary", "[mongo][R4]") {
  TwoMembers set;
  const MongoCall call(*set.pool, set.settings, {"test", ""});
  set.make_second_primary();
  call.write(doc({{"findAndModify", "locks"}}));
  call.read(doc({{"aggregate", "locks"}}), ReadConcern::linearizable);
  call.read_each(doc({{"find", "locks"}}), ReadConcern::majority, [](const Document&) {});
  CHECK(set.first.commands().size() == 3);
  CHECK(set.second.commands().empty());
}

// A deposed primary, cut off from the others, would tell of no ring.
TEST_CASE("a bell that is followed is left once another server is primary", "[mongo][bell][R19]") {
  TwoMembers set;
  set.first.answer_with(empty_batch);
  const MongoCall call(*set.pool, set.settings, {"test", ""});
  int batches = 0;
  const auto take = [&](const std::vector<Document>&) {
    if (++batches == 2) set.make_second_primary();
    return batches < 3;
  };
  CHECK(call.follow(doc({{"find", "bells"}, {"tailable", true}}), 1ms, take));
  CHECK(batches == 2);
  // By its name, for a set may read otherwise by default. A getMore may have none.
  const auto sent = set.first.commands();
  REQUIRE(sent.size() >= 2);
  CHECK(text_at(sent[0], "readConcern.level") == "local");
  CHECK_FALSE(find(sent[1].get(), "readConcern"));
}

TEST_CASE("a server is told no longer limit than its call has left", "[mongo][R12]") {
  Recorded scene(GENERATE(true, false));
  const AnswersUntil end(host_clock()->steady_now() + 10s);
  const auto sent = scene.sent_by([](Store& store) { store.release("jobs", kOurs); });
  REQUIRE(sent.size() == 1);
  for (const char* const limit : {"writeConcern.wtimeout", "maxTimeMS"}) {
    CHECK(number_at(sent.front(), limit) > 0);
    CHECK(number_at(sent.front(), limit) <= 9'000);
  }
}
