// Libmongoc's own connections to a server: their answers end no process, and spoil nothing for
// good.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// The only member of the set "rs", which has been made by that election.
std::string only_member(const MockServer& server, const std::string& election) {
  return "{" + member_hello(true, {server.port()}) + R"(, "electionId": {"$oid": ")" + election +
         R"("}})";
}
const std::string kElection = "7fffffff0000000000000001";
const std::string kLaterElection = "7fffffff00000000000000ff";

/// An open store on a set of one member, which is of this process.
struct Member {
  explicit Member(const std::string& election = kElection,
                  std::chrono::milliseconds call_limit = 2s) {
    server.answer_with(
        [](const Bson&) { return json(R"({"ok": 1, "cursor": {"id": 0, "firstBatch": []}})"); });
    server.hello_with(json(only_member(server, election)));
    const std::string uri =
        "mongodb://127.0.0.1:" + std::to_string(server.port()) + "/?replicaSet=rs";
    store = open_mongo_store(ConnectionString(uri), {.call_limit = call_limit});
  }

  bool answers() {
    return !failure_of([&] { store->holds("x"); });
  }
  void expect_lost() {
    wait_until("the server to be lost", [this] { return !answers(); });
  }
  void expect_found() {
    wait_until("the server to be found again", [this] { return answers(); });
  }

  MockServer server{json("{" + standalone_hello() + "}")};
  std::shared_ptr<Store> store;
};

void put(std::string& message, std::size_t at, std::int32_t number) {
  std::memcpy(message.data() + at, &number, sizeof(number));
}

}  // namespace

TEST_CASE("bytes of any kind on a monitor's connection end no process", "[mongo][R8]") {
  Member member;
  constexpr std::size_t kLengthAt = 0;
  constexpr std::size_t kKindAt = 12;
  constexpr std::int32_t kCompressed = 2012;
  const auto spoil = GENERATE(
      as<MockServer::Spoil>(), [](std::string& message) { put(message, kLengthAt, 4); },
      [](std::string& message) { put(message, kLengthAt, -1); },
      [](std::string& message) { put(message, kKindAt, kCompressed); },
      // The length of the document, which is behind 20 bytes of OP_REPLY.
      [](std::string& message) { put(message, 36, 5); });
  member.server.spoil_hello_with(spoil);
  member.expect_lost();
  member.server.spoil_hello_with({});
  member.expect_found();
}

TEST_CASE("an answer of any shape on a monitor's connection ends no process", "[mongo][R8]") {
  Member member;
  const std::string hello =
      GENERATE(as<std::string>(), R"({"ok": 0, "code": 0, "errmsg": "odd"})",
               R"({"ok": 1, "ismaster": true, "setName": "rs", "hosts": [1]})",
               R"({"ok": 1, "ismaster": true, "setName": "rs", "hosts": ["zlib", ""]})");
  member.server.hello_with(json(hello));
  member.expect_lost();
  member.server.hello_with(json(only_member(member.server, kElection)));
  member.expect_found();
}

TEST_CASE("a member that was of another set for a while is found again", "[mongo][R15]") {
  Member member;
  const std::string hello = only_member(member.server, kElection);
  std::string of_another = hello;
  of_another.replace(of_another.find(R"("setName": "rs")"), 15, R"("setName": "sr")");
  const std::string alone = "{" + standalone_hello() + "}";
  member.server.hello_with(json(GENERATE_COPY(as<std::string>(), of_another, alone)));
  member.expect_lost();
  member.server.hello_with(json(hello));
  member.expect_found();
}

TEST_CASE("a set that was made anew under its name is found", "[mongo][R15]") {
  Member member(kLaterElection);
  member.server.hello_with(json(only_member(member.server, kElection)));
  member.expect_lost();
  member.expect_found();
}

TEST_CASE("no server is told the cluster time of an earlier answer", "[mongo][R8]") {
  Member member(kElection, 20s);
  member.server.answer_with([](const Bson&) {
    return json(R"({"ok": 1, "cursor": {"id": 0, "firstBatch": []}, "$clusterTime": {
        "clusterTime": {"$timestamp": {"t": 4294967295, "i": 4294967295}},
        "signature": {"hash": {"$binary": {"base64": "AAAA", "subType": "00"}},
                      "keyId": {"$numberLong": "0"}}}})");
  });
  REQUIRE(member.answers());
  member.server.forget_commands();
  CHECK(member.answers());
  const auto sent = member.server.commands();
  REQUIRE_FALSE(sent.empty());
  CHECK(std::none_of(sent.begin(), sent.end(), [](const Bson& command) {
    return bson_has_field(command.get(), "$clusterTime");
  }));
}
