// Rings on a server that refuses them for want of a right.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

Bson refuse_rings(const Bson& command) {
  if (find(command.get(), "insert"))
    return json(R"({"ok": 0, "code": 13, "errmsg": "not authorized on config"})");
  if (find(command.get(), "isMaster")) return json("{" + standalone_hello() + "}");
  return json(R"({"ok": 1})");
}

std::shared_ptr<Store> store_on(const MockServer& server) {
  return open_mongo_store(
      ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
      {.call_limit = 4s});
}

}  // namespace

TEST_CASE("a ring that is refused is tried again more and more rarely", "[mongo][bell][R19][R20]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with(refuse_rings);
  const auto store = store_on(server);
  const auto ring = [&] { store->line()->ring("jobs", {"b"}); };
  CHECK(failure_of(ring) == Errc::permission_denied);
  for (int more = 0; more != 50; ++more) failure_of(ring);
  const auto commands = server.commands();
  const auto rings = std::count_if(commands.begin(), commands.end(), [](const Bson& command) {
    return find(command.get(), "insert").has_value();
  });
  // Pauses of half a second, a second, two, four and eight: however slowly this runs.
  CHECK(rings < 6);
}

// Each pause is half a second then. Pauses that double come to two minutes.
TEST_CASE("a ring that is heeded makes the pause after the next refusal short again",
          "[mongo][bell][R19][R20]") {
  std::atomic<int> rings = 0;
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with([&](const Bson& command) {
    const bool heeded = find(command.get(), "insert") && ++rings % 2 == 0;
    return heeded ? json(R"({"ok": 1})") : refuse_rings(command);
  });
  const auto store = store_on(server);
  const auto nine_are_refused = [&] {
    failure_of([&] { store->line()->ring("jobs", {"b"}); });
    return rings >= 17;
  };
  CHECK_NOTHROW(wait_until("nine rings to be refused", nine_are_refused, 1min));
}
