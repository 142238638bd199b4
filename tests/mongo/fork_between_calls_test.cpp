// A child that is forked while other threads of its parent use libmongoc (R16), on a server that
// tests script.
#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <optional>
#include <string>

#include "distlock/line.h"
#include "distlock/stores.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "support/asleep.h"
#include "support/busy_threads.h"
#include "support/forked_child.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

bool is_get_more(const Bson& command) { return find(command.get(), "getMore").has_value(); }

// Nothing is stored, and who listens to the bell hears it at once.
Bson answer_of_empty_server(const Bson& command) {
  if (is_get_more(command))
    return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "77"}, "nextBatch": []}})");
  if (find(command.get(), "tailable"))
    return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "77"},
        "firstBatch": [{"_id": 1, "lock": "jobs"}]}})");
  return json(R"({"ok": 1, "localTime": {"$date": 5}, "cursor": {"id": 0, "firstBatch": []}})");
}

struct EmptyServer {
  EmptyServer() { server.answer_with(answer_of_empty_server); }

  MockServer server{json("{" + standalone_hello() + "}")};
  const ConnectionString connection{"mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"};
};

/// Of a child: whether it can use the server, or how it is refused.
std::optional<Errc> refusal_of_server(const ConnectionString& server) {
  return refusal_of_child([&] { return thrown_by([&] { return open_store(server)->list(); }); },
                          60);
}

/// The same of a child that a child forks.
std::optional<Errc> refusal_in_next_generation(const ConnectionString& server) {
  return refusal_of_child([&] { return refusal_of_server(server); }, 120);
}

/// Shut until it ends.
class Gate {
 public:
  ~Gate() { open_.set_value(); }
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  std::shared_future<void> opened() { return opened_; }

 private:
  std::promise<void> open_;
  const std::shared_future<void> opened_ = open_.get_future().share();
};

}  // namespace

TEST_CASE("a fork waits until other threads have left libmongoc",
          "[mongo][R16][unsanitized][forks]") {
  const EmptyServer empty;
  const auto store = open_store(empty.connection);
  BusyThreads busy;
  for (int i = 0; i < 2; ++i) busy.again([&] { (void)store->list(); });
  CHECK(refused_of_fifty([&] { return refusal_of_server(empty.connection); }) < 10);
}

// The thread of the bell hears it in the middle of a call.
TEST_CASE("a child that is forked in the middle of a call of libmongoc is refused",
          "[mongo][bell][R16][forks]") {
  const auto refusal = GENERATE(refusal_of_server, refusal_in_next_generation);
  const EmptyServer empty;
  const auto store = open_store(empty.connection);
  std::atomic<bool> heard = false;
  std::shared_ptr<void> bell;
  Gate gate;
  bell = store->line()->listen("a", [&heard, goes_on = gate.opened()](std::string_view) {
    heard = true;
    goes_on.wait();
  });
  wait_until("the bell to be heard", [&] { return heard.load(); });
  CHECK(refusal(empty.connection) == Errc::forked);
}

TEST_CASE("a thread that waits for an answer of a MongoDB server holds up no fork",
          "[mongo][bell][R16][forks]") {
  EmptyServer empty;
  const auto store = open_store(empty.connection);
  std::atomic<bool> waits = false;
  std::atomic<bool> ends = false;
  empty.server.hold_back_while([&](const Bson& command) {
    if (!is_get_more(command)) return false;
    waits = true;
    return !ends;
  });
  const auto bell = store->line()->listen("a", [](std::string_view) {});
  wait_until("the bell to be listened to", [&] { return waits.load(); });
  std::optional<Errc> refusal;
  CHECK_NOTHROW(refusal = refusal_of_server(empty.connection));
  ends = true;
  CHECK(refusal == std::nullopt);
}

TEST_CASE("a thread that looks for a MongoDB server holds up no fork",
          "[mongo][R12][R16][unsanitized][forks]") {
  const EmptyServer empty;
  std::atomic<pid_t> id = 0;
  boost::thread looking([&] {
    id = gettid();
    // Nobody listens on port 1.
    (void)thrown_by(
        [] { return open_store(ConnectionString("mongodb://127.0.0.1:1/"), {.call_limit = 6s}); });
  });
  wait_until("a thread to look for a server", [&] { return id != 0 && asleep(id); });
  const auto refusal = refusal_of_server(empty.connection);
  looking.join();
  CHECK(refusal == std::nullopt);
}
