// How a bell ends, on a server that holds an answer back.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_bell.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_open.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

bool is_command(const Bson& command, const char* name) {
  return find(command.get(), name).has_value();
}

bool a_bell_is_listened_to() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::any_of(begin(threads), end(threads), [](const auto& thread) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    return name == "LockBell";
  });
}

Bson answer_to_listener(const Bson& command) {
  const std::string batch = is_command(command, "getMore") ? "nextBatch" : "firstBatch";
  return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "77"}, ")" + batch + R"(": []}})");
}

/// A bell on that server, and what it needs.
struct Listener {
  // The driver's own threads get the name of the one that asks first, which is not the bell's.
  explicit Listener(const MockServer& server)
      : connection("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/") {
    const PooledClient first(pool.get());
    bell = std::make_unique<MongoBell>(pool.get(), MongoSettings{"config", 3600ms}, "db7:1:1",
                                       [](std::string_view) {});
  }

  const ConnectionString connection;
  const Pool pool = open_pool(tuned_uri(connection, 4s), connection);
  std::unique_ptr<MongoBell> bell;
};

}  // namespace

TEST_CASE("the end of a bell sends one ring, gives its cursor up, and does nothing else",
          "[mongo][bell][R12][R19][R20]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with(answer_to_listener);
  const auto sent = [&](const char* name) {
    const auto commands = server.commands();
    return std::count_if(commands.begin(), commands.end(),
                         [&](const Bson& command) { return is_command(command, name); });
  };
  Listener listener(server);
  wait_until("the bell to be listened to", [&] { return sent("getMore") > 0; });
  CHECK(sent("insert") == 1);
  listener.bell.reset();
  CHECK(sent("create") == 1);
  CHECK(sent("insert") == 2);
  CHECK(sent("killCursors") == 1);
}

// The ring by which a bell wakes its listener is the last that it hears.
TEST_CASE("a bell that ends has told its listener before it wakes it", "[mongo][bell][R19]") {
  std::atomic<int> waits = 0;
  std::atomic<int> waits_before = -1;
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with([&](const Bson& command) {
    if (is_command(command, "getMore")) ++waits;
    return answer_to_listener(command);
  });
  Listener listener(server);
  wait_until("the bell to be listened to", [&] { return waits > 0; });
  // One getMore may be on its way while the bell ends, and no other follows.
  server.hold_back_while([&](const Bson& command) {
    if (!is_command(command, "insert")) return false;
    if (waits_before < 0) waits_before = waits.load();
    return a_bell_is_listened_to() && waits - waits_before < 2;
  });
  listener.bell.reset();
  REQUIRE(waits_before > 0);
  CHECK(waits - waits_before < 2);
}
