// The look at a collection that has the bell's name, on a server that only looks like one (R19).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"
#include "support/asleep.h"
#include "support/captured_log.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* kOtherDocuments = R"("lockbells" has other documents than rings)";

/// A server that has such a collection, and a store on it. From that look on there is another
/// document than rings.
class WithBells {
 public:
  explicit WithBells(int others_from_look, bool capped = false) {
    store = open_mongo_store(
        ConnectionString("mongodb://127.0.0.1:" + std::to_string(mock.port()) + "/"),
        {.call_limit = 60s});
    mock.answer_with([=, looks = 0](const Bson& command) mutable {
      const auto is = [&](const char* name) { return find(command.get(), name).has_value(); };
      if (is("create")) return json(R"({"ok": 0, "code": 48, "errmsg": "exists"})");
      if (!capped && (is("explain") || is("tailable")))
        return json(R"({"ok": 0, "code": 2, "errmsg": "tailable cursor on non capped"})");
      const bool others = is("find") && ++looks >= others_from_look;
      const std::string found = others ? R"({"_id": 1})" : "";
      return json(R"({"ok": 1, "cursor": {"id": 0, "firstBatch": [)" + found + "]}}");
    });
    mock.forget_commands();
  }

  std::shared_ptr<void> listen() const {
    return store->line()->listen("db7:1:1", [](std::string_view) {});
  }
  void ring() const { store->line()->ring("jobs", {"b"}); }

  std::int64_t sent(const char* name) {
    const auto commands = mock.commands();
    return std::count_if(commands.begin(), commands.end(), [&](const Bson& command) {
      return find(command.get(), name).has_value();
    });
  }

  MockServer mock{json("{" + standalone_hello() + "}")};
  std::shared_ptr<Store> store;
};

}  // namespace

TEST_CASE("listeners that find other documents than rings say so once, and write nothing",
          "[mongo][bell][R19]") {
  WithBells server(1);
  Captured log;
  for (int listener = 1; listener != 3; ++listener) {
    auto listening = server.listen();
    wait_until("a look", [&] { return server.sent("find") >= listener; });
    listening.reset();
  }
  CHECK(log.count(severity_level::warning, kOtherDocuments) == 1);
  CHECK(log.count(severity_level::warning, "rename it, or give distlock another database") == 1);
  CHECK(server.sent("insert") == 0);
  CHECK(server.sent("convertToCapped") == 0);
}

TEST_CASE("documents that came after the first look keep a collection from being capped",
          "[mongo][bell][R19]") {
  WithBells server(2);
  Captured log;
  auto listening = server.listen();
  wait_until("the second look", [&] { return server.sent("find") >= 3; });
  listening.reset();
  CHECK(log.count(severity_level::warning, kOtherDocuments) == 1);
  CHECK(server.sent("convertToCapped") == 0);
}

TEST_CASE("a collection that has nothing but rings is capped", "[mongo][bell][R19]") {
  WithBells server(1000);
  const auto listening = server.listen();
  wait_until("it is capped", [&] { return server.sent("convertToCapped") > 0; });
}

TEST_CASE("no ring is sent where other documents are, also after its pause",
          "[mongo][bell][R19][R20]") {
  WithBells server(1);
  std::string message;
  CHECK(failure_of([&] { server.ring(); }, &message) == Errc::permission_denied);
  CHECK_THAT(message, Catch::Contains(kOtherDocuments));
  for (int more = 0; more != 50; ++more) failure_of([&] { server.ring(); });
  // As of rings that are refused.
  CHECK(server.sent("find") < 6);
  wait_until("another look", [&] {
    failure_of([&] { server.ring(); });
    return server.sent("find") > 1;
  });
  CHECK(server.sent("insert") == 0);
}

TEST_CASE("a ring is sent where there is nothing but rings", "[mongo][bell][R19]") {
  WithBells server(1000);
  for (int ring = 0; ring != 2; ++ring) server.ring();
  CHECK(server.sent("find") == 1);
  CHECK(server.sent("insert") == 2);
}

TEST_CASE("a capped collection is the bell, whatever others have written there",
          "[mongo][bell][R19]") {
  WithBells server(1, true);
  server.ring();
  CHECK(server.sent("find") == 0);
  CHECK(server.sent("insert") == 1);
}

TEST_CASE("a bell that ends before it listens sends no ring", "[mongo][bell][R12][R19]") {
  WithBells server(1);
  std::atomic<bool> asked = false;
  std::atomic<bool> answers = false;
  server.mock.hold_back_while([&](const Bson& command) {
    if (!find(command.get(), "create")) return false;
    asked = true;
    return !answers;
  });
  auto listening = server.listen();
  wait_until("the bell to begin", [&] { return asked.load(); });
  std::atomic<pid_t> id = 0;
  boost::thread ending([&] {
    id = gettid();
    listening.reset();
  });
  wait_until("its end to wait", [&] { return id != 0 && asleep(id); });
  answers = true;
  ending.join();
  CHECK(server.sent("insert") == 0);
}
