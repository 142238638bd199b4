// Rings on a server that refuses them for want of a right.
#include <algorithm>
#include <catch2/catch.hpp>

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

}  // namespace

TEST_CASE("a ring that is refused is tried again more and more rarely", "[mongo][bell][R19][R20]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with(refuse_rings);
  const auto store = open_mongo_store(
      ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
      {.call_limit = 4s});
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
