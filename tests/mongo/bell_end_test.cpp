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

}  // namespace

// The ring by which a bell wakes its listener is the last that it hears.
TEST_CASE("a bell that ends has told its listener before it wakes it", "[mongo][bell][R19]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  std::atomic<int> waits = 0;
  server.answer_with([&](const Bson& command) {
    if (is_command(command, "getMore")) ++waits;
    const std::string batch = is_command(command, "getMore") ? "nextBatch" : "firstBatch";
    return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "77"}, ")" + batch + R"(": []}})");
  });
  const ConnectionString connection("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/");
  const Pool pool = open_pool(tuned_uri(connection, 4s), connection);
  auto bell = std::make_unique<MongoBell>(pool.get(), MongoSettings{"config", 3600ms}, "db7:1:1",
                                          [](std::string_view) {});
  wait_until("the bell to be listened to", [&] { return waits > 0; });
  // One getMore may be on its way while the bell ends, and no other follows.
  std::atomic<int> waits_before = -1;
  server.hold_back_while([&](const Bson& command) {
    if (!is_command(command, "insert")) return false;
    if (waits_before < 0) waits_before = waits.load();
    return a_bell_is_listened_to() && waits - waits_before < 2;
  });
  bell.reset();
  REQUIRE(waits_before > 0);
  CHECK(waits - waits_before < 2);
}
