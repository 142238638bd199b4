// How a bell ends, on a server that holds an answer back.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_bell.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_open.h"
#include "stores/mongodb/mongo_store.h"
#include "support/asleep.h"
#include "support/captured_log.h"

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

// Of a server on which the bell's collection is capped or not.
Bson answer_to_process(const Bson& command, bool capped) {
  if (is_command(command, "tailable") && !capped)
    return json(R"({"ok": 0, "code": 2, "errmsg": "tailable cursor requested on non capped"})");
  if (is_command(command, "find") && !capped)
    return json(R"({"ok": 1, "cursor": {"id": 0, "firstBatch": []}})");
  if (is_command(command, "findAndModify"))
    return json(R"({"ok": 1, "value": {"_id": "a", "ping": {"$date": {"$numberLong": "0"}}}})");
  return answer_to_listener(command);
}

/// A bell on that server, and what it needs.
struct Listener {
  // The driver's own threads get the name of the one that asks first, which is not the bell's.
  explicit Listener(const MockServer& server,
                    std::shared_ptr<BellRefusals> refusals = std::make_shared<BellRefusals>())
      : connection("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/") {
    const PooledClient first = pool.client();
    bell = std::make_unique<MongoBell>(
        pool, MongoSettings{"config", 3600ms}, "db7:1:1", [](std::string_view) {},
        std::move(refusals));
  }

  const ConnectionString connection;
  MongoPool pool{tuned_uri(connection, 4s), connection};
  std::unique_ptr<MongoBell> bell;
};

/// A bell that was refused, and is listened to now.
struct HeardAtLast {
  HeardAtLast() {
    server.answer_with([this](const Bson& command) {
      if (!is_command(command, "insert") || !refuses) return answer_to_listener(command);
      return json(R"({"ok": 0, "code": 13, "errmsg": "not authorized"})");
    });
    listener = std::make_unique<Listener>(server, refusals);
    wait_until("the bell to be refused", [&] { return refusals->pause.load() > 0ms; });
    refuses = false;
    wait_until("the bell to be listened to", [&] { return sent("getMore") > 0; });
  }

  std::ptrdiff_t sent(const char* name) {
    const auto commands = server.commands();
    return std::count_if(commands.begin(), commands.end(),
                         [&](const Bson& command) { return is_command(command, name); });
  }

  std::atomic<bool> refuses = true;
  MockServer server{json("{" + standalone_hello() + "}")};
  const std::shared_ptr<BellRefusals> refusals = std::make_shared<BellRefusals>();
  std::unique_ptr<Listener> listener;
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

TEST_CASE("an interrupted thread that ends a bell waits for its listener",
          "[mongo][bell][R12][R19]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  std::atomic<bool> waits = false;
  server.answer_with([&](const Bson& command) {
    if (is_command(command, "getMore")) waits = true;
    return answer_to_listener(command);
  });
  Listener listener(server);
  wait_until("the bell to be listened to", [&] { return waits.load(); });
  std::atomic<bool> rung = false;
  std::atomic<bool> answers = false;
  server.hold_back_while([&](const Bson& command) {
    if (is_command(command, "insert")) rung = true;
    return !is_command(command, "insert") && !answers;
  });
  std::atomic<pid_t> id = 0;
  std::atomic<bool> ended = false;
  boost::thread ending([&] {
    id = gettid();
    while (!boost::this_thread::interruption_requested()) boost::this_thread::yield();
    listener.bell.reset();
    ended = true;
  });
  ending.interrupt();
  wait_until("the bell to ring for its end", [&] { return rung.load(); });
  wait_until("its end to wait", [&] { return asleep(id); });
  CHECK_FALSE(ended);
  answers = true;
  ending.join();
  CHECK(ended);
}

// A try makes the collection and rings; the end of a bell rings alone.
TEST_CASE("listeners of one store that are refused the bell say so once, and end without a ring",
          "[mongo][bell][R19][R20]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with([](const Bson& command) {
    if (!is_command(command, "insert")) return answer_to_listener(command);
    return json(R"({"ok": 0, "code": 13, "errmsg": "not authorized"})");
  });
  Captured log;
  const auto refusals = std::make_shared<BellRefusals>();
  for (const auto pause : {500ms, 1000ms}) {
    Listener listener(server, refusals);
    wait_until("the bell to be refused", [&] { return refusals->pause.load() >= pause; });
    listener.bell.reset();
  }
  CHECK(log.count(severity_level::warning, "waiters look") == 1);
  const auto commands = server.commands();
  const auto sent = [&](const char* name) {
    return std::count_if(commands.begin(), commands.end(),
                         [&](const Bson& command) { return is_command(command, name); });
  };
  CHECK(sent("insert") == sent("create"));
}

// The old bell waits for its answer or caps the collection, and sends its ring. The new one makes
// the collection.
TEST_CASE("a process can ping as one bell ends and another begins, however many threads call",
          "[mongo][bell][R9][R12]") {
  const bool capped = GENERATE(true, false);
  std::atomic<bool> slow = true;
  std::atomic<bool> waits = false;
  std::atomic<bool> ends = false;
  std::atomic<bool> begins = false;
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with([=](const Bson& command) { return answer_to_process(command, capped); });
  server.hold_back_while([&](const Bson& command) {
    if (is_command(command, capped ? "getMore" : "convertToCapped")) waits = true;
    if (!waits || is_command(command, "findAndModify")) return false;
    if (is_command(command, "insert")) ends = true;
    if (is_command(command, "create")) begins = true;
    return slow && !is_command(command, "createIndexes");
  });
  const auto store =
      open_mongo_store(ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) +
                                        "/?maxPoolSize=8&waitQueueTimeoutMS=100"),
                       {.call_limit = 60s});
  auto bell = store->line()->listen("a", [](std::string_view) {});
  wait_until("the bell to be listened to", [&] { return waits.load(); });
  const auto end = std::async(std::launch::async, [&] { bell.reset(); });
  wait_until("the bell to ring for its end", [&] { return ends.load(); });
  const auto another = store->line()->listen("a", [](std::string_view) {});
  wait_until("another bell to begin", [&] { return begins.load(); });
  std::atomic<bool> full = false;
  std::vector<std::future<void>> calls;
  for (int call = 0; call != 8; ++call) {
    calls.push_back(std::async(std::launch::async, [&] {
      if (failure_of([&] { store->inspect("jobs", Freshness::ordinary); })) full = true;
    }));
  }
  wait_until("a call to find no connection", [&] { return full.load(); });
  CHECK(failure_of([&] { store->ping("a"); }) == std::nullopt);
  slow = false;
}

TEST_CASE("a bell that was refused once and is heard now ends with a ring",
          "[mongo][bell][R12][R19][R20]") {
  HeardAtLast scene;
  const auto rings = scene.sent("insert");
  scene.listener->bell.reset();
  CHECK(scene.sent("insert") == rings + 1);
}

TEST_CASE("a bell that was heard has no refusals behind it that make the next pause longer",
          "[mongo][bell][R19][R20]") {
  HeardAtLast scene;
  scene.listener->bell.reset();
  CHECK(scene.refusals->pause.load() == 0ms);
}
