#include <catch2/catch.hpp>

#include "distlock/clock.h"
#include "mongo/attempts.h"
#include "mongo/faults.h"
#include "mongo/mock_server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

struct Refusal {
  std::optional<Errc> errc;
  std::string message;
};

Refusal opening(const std::string& uri) {
  Refusal refusal;
  refusal.errc = failure_of([&] { open_mongo_store(ConnectionString(uri), {.call_limit = 20s}); },
                            &refusal.message);
  return refusal;
}

std::string address(int port) { return "mongodb://127.0.0.1:" + std::to_string(port) + "/"; }

Bson hello_of(int newest_wire_version) {
  return doc({{"ismaster", true},
              {"maxBsonObjectSize", 16777216},
              {"maxMessageSizeBytes", 48000000},
              {"maxWriteBatchSize", 100000},
              {"minWireVersion", 0},
              {"maxWireVersion", newest_wire_version},
              {"ok", 1.0}});
}

Bson ghost_hello() {
  Bson hello = hello_of(17);
  append(hello, "isreplicaset", true);
  return hello;
}

}  // namespace

TEST_CASE("a secondary is refused at open", "[mongo]") {
  const auto ports = ports_of(replica_set_uri());
  wait_until_whole(replica_set_uri());
  const int primary = primary_among(ports);
  for (const int port : ports) {
    const Refusal refusal = opening(address(port));
    if (port == primary) {
      CHECK_FALSE(refusal.errc);
    } else {
      CHECK(refusal.errc == Errc::invalid_argument);
      CHECK_THAT(refusal.message, Catch::Contains("a secondary"));
    }
  }
}

TEST_CASE("an arbiter is refused at open", "[mongo]") {
  const Bson hello = Server(ahead_set_uri(), "admin").admin(doc({{"isMaster", 1}}));
  const auto arbiter = find(hello.get(), "arbiters.0");
  REQUIRE(arbiter);
  const Refusal refusal =
      opening(std::string("mongodb://") + bson_iter_utf8(&*arbiter, nullptr) + "/");
  CHECK(refusal.errc == Errc::invalid_argument);
  CHECK_THAT(refusal.message, Catch::Contains("an arbiter"));
}

TEST_CASE("a mongos is refused at open", "[mongo]") {
  Bson hello = hello_of(17);
  append(hello, "msg", "isdbgrid");
  const MockServer mongos(std::move(hello));
  const Refusal refusal = opening(address(mongos.port()));
  CHECK(refusal.errc == Errc::invalid_argument);
  CHECK_THAT(refusal.message, Catch::Contains("this is a mongos"));
}

TEST_CASE("a server that is not in its replica set yet is not one to lock by", "[mongo]") {
  const MockServer ghost(ghost_hello());
  const Refusal refusal = opening(address(ghost.port()));
  CHECK(refusal.errc == Errc::not_applied);
  CHECK_THAT(refusal.message, Catch::Contains("cannot take writes (RSGhost)"));
}

TEST_CASE("a server that takes no more writes gets no command", "[mongo][R4]") {
  MockServer server(hello_of(17));
  const auto store =
      open_mongo_store(ConnectionString(address(server.port())), {.call_limit = 20s});
  server.hello_with(ghost_hello());
  const auto until = host_clock()->steady_now() + 60s;
  std::string message;
  while (message.find("no primary now") == message.npos && host_clock()->steady_now() < until)
    failure_of([&] { store->inspect("jobs", Freshness::ordinary); }, &message);
  CHECK_THAT(message, Catch::Contains("the server is no primary now (RSGhost)"));
}

TEST_CASE("a member that is restarted without its set gets no command", "[mongo][R4][R6]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.hello_with(json("{" + member_hello(true, {server.port()}) + "}"));
  const auto store = open_mongo_store(
      ConnectionString(address(server.port()) + "?directConnection=true"), {.call_limit = 60s});
  server.answer_with([](const Bson&) { return json(R"({"ok": 1, "value": null})"); });
  server.hello_with(json("{" + standalone_hello() + "}"));
  const auto until = host_clock()->steady_now() + 60s;
  std::string message;
  while (message.find("no member") == message.npos && host_clock()->steady_now() < until)
    failure_of([&] { store->release("jobs", Token{}); }, &message);
  CHECK_THAT(message, Catch::Contains("the server is no member of the replica set \"rs\" now"));
  server.forget_commands();
  CHECK(failure_of([&] { store->ping("db7"); }) == Errc::not_applied);
  CHECK(server.commands().empty());
}

TEST_CASE("a set without majority reads is refused at open", "[mongo][R9]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  const bool is_member = GENERATE(true, false);
  if (is_member) server.hello_with(json("{" + member_hello(true, {server.port()}) + "}"));
  server.answer_with([](const Bson& command) {
    if (!find(command.get(), "find")) return json(R"({"ok": 1})");
    return json(R"({"ok": 0, "code": 148, "errmsg": "not with enableMajorityReadConcern=false"})");
  });
  const Refusal refusal = opening(address(server.port()) + "?directConnection=true");
  CHECK(refusal.errc.has_value() == is_member);
  if (!is_member) return;
  CHECK(refusal.errc == Errc::invalid_argument);
  CHECK_THAT(refusal.message, Catch::Contains("has no majority reads"));
}

TEST_CASE("a server before MongoDB 4.2 is refused at open", "[mongo]") {
  // 7 is MongoDB 4.0, 5 is 3.4, which the driver refuses by itself.
  const int version = GENERATE(7, 5);
  const MockServer old(hello_of(version));
  CHECK(opening(address(old.port())).errc == Errc::invalid_argument);
}

TEST_CASE("a server of any version from 4.2 on is taken", "[mongo]") {
  const MockServer server(hello_of(GENERATE(8, 17, 25)));
  CHECK_FALSE(opening(address(server.port())).errc);
}

TEST_CASE("a server that heeds no read concern is refused at open", "[mongo][R6]") {
  MockServer server(hello_of(17));
  server.heed_no_read_concern();
  const Refusal refusal = opening(address(server.port()));
  CHECK(refusal.errc == Errc::invalid_argument);
  CHECK_THAT(refusal.message, Catch::Contains("heeds no read concern"));
}

TEST_CASE("a service that is only like MongoDB is refused at open by its name", "[mongo]") {
  const std::string host =
      GENERATE("c1.cluster-x.eu-west-1.docdb.amazonaws.com", "x.mongo.cosmos.azure.com:10255",
               "x.eu-west-1.docdb-elastic.amazonaws.com", "x.documents.azure.com");
  const Refusal refusal = opening("mongodb://" + host + "/");
  CHECK(refusal.errc == Errc::invalid_argument);
  CHECK_THAT(refusal.message, Catch::Contains("is no MongoDB"));
}

TEST_CASE("a wrong password is refused at open and not shown", "[mongo]") {
  std::string uri = standalone_uri();
  uri.insert(std::string_view("mongodb://").size(), "ann:s3cr3t@");
  const Refusal refusal = opening(uri);
  CHECK(refusal.errc == Errc::permission_denied);
  CHECK_THAT(refusal.message, !Catch::Contains("s3cr3t"));
}

TEST_CASE("a server that is not there is not reached", "[mongo]") {
  CHECK(opening("mongodb://127.0.0.1:1/").errc == Errc::not_applied);
}

TEST_CASE("the server's own notes name the program that asked", "[mongo]") {
  const auto [options, name] = GENERATE(
      table<std::string, std::string>({{"", "distlock"}, {"appName=balancer", "balancer"}}));
  const Server server(standalone_uri());
  server.run(doc({{"profile", 2}}));
  open_mongo_store(server.connection(options), {})->ping("db7");
  const auto by = [&](const std::string& filter) {
    return server.first(json(R"({"find": "system.profile", "filter": {"command.findAndModify":)"
                             R"("lockpings", "appName": )" +
                             filter + "}}"));
  };
  CHECK(by('"' + name + '"'));
  CHECK_FALSE(by(R"({"$ne": ")" + name + "\"}"));
}

TEST_CASE("a read concern in the connection string changes nothing", "[mongo][R6]") {
  const Server server(GENERATE(values({standalone_uri(), replica_set_uri()})));
  const std::string option = GENERATE("readConcernLevel=majority", "readConcernLevel=linearizable",
                                      "readPreference=primary", "w=majority", "journal=true");
  CAPTURE(option);
  const auto store = open_mongo_store(server.connection(option), {});
  store->ping("db7");
  REQUIRE(store->claim("jobs", FromAbsent{}, our_claim(*store)));
  CHECK(store->inspect("jobs", Freshness::fresh).lock->taken());
  CHECK(store->inspect("jobs", Freshness::ordinary).lock->taken());
  CHECK(store->holds("db7:1:1").size() == 1);
  CHECK(store->list().locks.size() == 1);
}
