// A user that a server refuses, and a server that is away while a connection authenticates.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "mongo/attempts.h"
#include "mongo/faults.h"
#include "mongo/mock_server.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

ConnectionString with_user(const MockServer& server) {
  return ConnectionString("mongodb://user:secret@127.0.0.1:" + std::to_string(server.port()) +
                          "/?authMechanism=SCRAM-SHA-256");
}

Bson failure_with(int code) { return doc({{"ok", 0}, {"code", code}, {"errmsg", "no"}}); }

// The parameters of SCRAM that begin a conversation.
Bson conversation(const std::string& parameters) {
  return doc({{"conversationId", 1}, {"done", false}, {"payload", parameters}, {"ok", 1}});
}

std::optional<Errc> opening(const MockServer& server, std::chrono::milliseconds limit) {
  return failure_of([&] { open_mongo_store(with_user(server), {.call_limit = limit}); });
}

}  // namespace

TEST_CASE("a server that is away while a connection authenticates refuses no user",
          "[mongo][R8][R15]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  SECTION("it shuts down") {
    const int code = GENERATE(91, 11600);
    server.answer_with([code](const Bson&) { return failure_with(code); });
  }
  SECTION("it does not answer") {
    server.hold_back_while([](const Bson&) { return true; });
  }
  SECTION("its answer is cut") {
    server.spoil_with([](std::string& message) { message.resize(message.size() / 2); });
  }
  CHECK(opening(server, 2s) == Errc::not_applied);
}

TEST_CASE("a server refuses a user by its answer", "[mongo][R8][R15]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  const int code = GENERATE(18, 334);
  server.answer_with([code](const Bson&) { return failure_with(code); });
  CHECK(opening(server, 20s) == Errc::permission_denied);
}

TEST_CASE("an authentication that comes with hello ends no process, whatever it is",
          "[mongo][R14]") {
  const std::string odd = GENERATE("5", "\"x\"", "null", "[1]", "1.5");
  const MockServer server(
      json("{" + standalone_hello() + R"(, "speculativeAuthenticate": )" + odd + "}"));
  CHECK(opening(server, 2s) == Errc::not_applied);
}

TEST_CASE("a server does not set how long an authentication takes", "[mongo][R12]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with(
      [](const Bson&) { return conversation("r=x,s=c2FsdHNhbHRzYWx0c2FsdA==,i=2000000000"); });
  CHECK(opening(server, 2s) == Errc::not_applied);
}
