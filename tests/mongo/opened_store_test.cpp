// A store as its users open it: what it asks of the server, and what it says of itself.
#include <catch2/catch.hpp>

#include "distlock/line.h"
#include "distlock/stores.h"
#include "mongo/recorded.h"
#include "mongo/server.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A member of a set that was restarted without it, after a store was opened.
struct WithoutItsSet {
  MockServer server{json("{" + standalone_hello() + "}")};
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  std::shared_ptr<Store> store;

  WithoutItsSet() {
    server.hello_with(json("{" + member_hello(true, {server.port()}) + "}"));
    server.answer_with(answer_to);
    store = open_mongo_store(ConnectionString("mongodb://" + address + "/?directConnection=true"),
                             {.call_limit = kCallLimit});
    server.hello_with(json("{" + standalone_hello() + "}"));
    wait_until("the driver to know the member without its set", [&] {
      std::string message;
      failure_of([&] { store->release("jobs", kOurs); }, &message);
      return message.find("no member of the replica set") != message.npos;
    });
    server.forget_commands();
  }
};

}  // namespace

// Through the guard against forks, which a store of open_store() has in front of it.
TEST_CASE("a fresh look at a store of open_store() is a fresh one of the server", "[mongo][R6]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.hello_with(json("{" + member_hello(true, {server.port()}) + "}"));
  server.answer_with(answer_to);
  const auto store =
      open_store(ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
                 {.call_limit = kCallLimit});
  server.forget_commands();
  CHECK(store->inspect("jobs", Freshness::fresh).fresh);
  CHECK_FALSE(store->inspect("jobs", Freshness::ordinary).fresh);
  const auto sent = server.commands();
  REQUIRE(sent.size() == 2);
  CHECK(text_at(sent[0], "readConcern.level") == "linearizable");
  CHECK(text_at(sent[1], "readConcern.level") == "local");
}

TEST_CASE("locks are in the database config where the connection string names none",
          "[mongo][R1]") {
  Recorded scene(GENERATE(true, false));
  const auto sent = scene.sent_by([&](Store& store) {
    store.ping("db7:1:1");
    store.release("jobs", kOurs);
  });
  // Two indexes come before the first ping.
  REQUIRE_FALSE(sent.empty());
  for (const Bson& command : sent) {
    INFO(command.json());
    CHECK(text_at(command, "$db") == "config");
  }
}

TEST_CASE("a member that is restarted without its set takes nobody into a line",
          "[mongo][line][R4][R6]") {
  WithoutItsSet site;
  const Claim claim = our_claim_until({StoreTime{}, "mongod:" + site.address});
  CHECK(failure_of([&] { site.store->line()->stand("jobs", claim); }) == Errc::not_applied);
  CHECK(failure_of([&] { site.store->line()->leave("jobs", kOurs); }) == Errc::not_applied);
  CHECK(site.server.commands().empty());
}

TEST_CASE("a store says the limit of a call that it was opened with", "[mongo][R9]") {
  const Recorded scene(GENERATE(true, false));
  CHECK(scene.store->call_limit() == kCallLimit);
}

TEST_CASE("on a member that is restarted without its set no ping is forgotten",
          "[mongo][R6][R13]") {
  WithoutItsSet site;
  CHECK(failure_of([&] { site.store->forget_pings(96h); }) == Errc::not_applied);
  CHECK(site.server.commands().empty());
}

// Each line of the log about a store shows it.
TEST_CASE("the description of a MongoDB store shows no secret of its string", "[mongo]") {
  const MockServer server(json("{" + standalone_hello() + "}"));
  const auto store =
      open_store(ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) +
                                  "/?tls=false&tlsCertificateKeyFilePassword=geheim"),
                 {.call_limit = kCallLimit});
  CHECK_THAT(store->description(), Catch::Contains("127.0.0.1") && !Catch::Contains("geheim"));
}
