// The bell of a server, and what other programs may do to its collection (R19).
#include <atomic>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <set>
#include <vector>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/faults.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_bell_commands.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

class Listener {
 public:
  explicit Listener(Store& store)
      : listening_(store.line()->listen("a", [this](std::string_view name) {
          const boost::lock_guard<boost::mutex> lock(mutex_);
          heard_.emplace(name);
        })) {}

  std::set<std::string> heard() {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    return heard_;
  }

 private:
  boost::mutex mutex_;
  std::set<std::string> heard_;
  std::shared_ptr<void> listening_;  // Last, so that it ends first.
};

// Rings again until it is heard: one that gets lost is no failure.
void ring_until_heard(Store& store, const std::string& name, Listener& listener) {
  wait_until("a ring is heard", [&] {
    store.line()->ring(name, {"a"});
    return listener.heard().contains(name);
  });
}

bool is_capped(const Server& server) {
  const Bson all =
      server.run(doc({{"listCollections", 1}, {"filter", doc({{"name", kLockBells}})}}));
  const auto capped = find(all.get(), "cursor.firstBatch.0.options.capped");
  return capped && bson_iter_as_bool(&*capped);
}

void put_bell(const Server& server, const std::string& fields) {
  const Bson reply =
      server.run(doc({{"insert", kLockBells}, {"documents", array({json("{" + fields + "}")})}}));
  if (find(reply.get(), "writeErrors")) throw std::runtime_error(reply.json());
}

}  // namespace

TEST_CASE("a bell's collection that is not capped is capped, and rings are heard",
          "[mongo][bell][R19]") {
  const Server server(GENERATE(values({standalone_uri(), replica_set_uri()})));
  const auto store = open_mongo_store(server.connection(), {});
  put_bell(server, R"("to": ["a"], "lock": "before")");
  REQUIRE_FALSE(is_capped(server));
  Listener listener(*store);
  ring_until_heard(*store, "jobs", listener);
  CHECK(is_capped(server));
}

TEST_CASE("a bell's collection that is dropped while somebody listens is made again, and heard",
          "[mongo][bell][R19]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  Listener listener(*store);
  ring_until_heard(*store, "before", listener);
  server.run(doc({{"drop", kLockBells}}));
  ring_until_heard(*store, "after", listener);
  CHECK(is_capped(server));
}

TEST_CASE("a process that listens no more leaves no cursor", "[mongo][bell][R20]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const auto cursors = [&] {
    const Bson status = server.admin(json(R"({"serverStatus": 1})"));
    const auto open = find(status.get(), "metrics.cursor.open.total");
    return open ? bson_iter_as_int64(&*open) : -1;
  };
  const std::int64_t before = cursors();
  {
    Listener listener(*store);
    wait_until("a cursor is open", [&] { return cursors() > before; });
  }
  wait_until("no cursor of it is open", [&] { return cursors() <= before; });
}

TEST_CASE("bells of other shapes, for nobody, or of megabytes harm nobody", "[mongo][bell][R19]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  server.run(doc({{"create", kLockBells}, {"capped", true}, {"size", std::int64_t{64} << 20}}));
  Listener listener(*store);
  ring_until_heard(*store, "before", listener);
  const std::string large(15 << 20, 'x');
  for (const std::string& fields :
       {std::string(R"("to": 7)"), std::string(R"("to": ["a"])"),
        std::string(R"("to": ["a"], "lock": 7)"), std::string(R"("to": ["a"], "lock": ["jobs"])"),
        std::string(R"("to": [], "lock": "nobody's")"),
        std::string(R"("to": {"a": 1}, "lock": "nobody's")"),
        R"("to": ["a"], "x": ")" + large + '"', R"("to": ["a"], "lock": ")" + large + '"'}) {
    put_bell(server, fields);
  }
  ring_until_heard(*store, "after", listener);
  CHECK(listener.heard() == std::set<std::string>{"before", "after", large});
}

TEST_CASE("a process that listens can ping, however small the connection string's pool is",
          "[mongo][bell][R12][R19]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection("maxPoolSize=1"), {.call_limit = 20s});
  const auto another = open_mongo_store(server.connection(), {});
  Listener listener(*store);
  // From now on the bell keeps its connection.
  ring_until_heard(*another, "jobs", listener);
  CHECK(failure_of([&] { store->ping("a"); }) == std::nullopt);
}

TEST_CASE("a process that listens can ping, however many of its threads wait for the server",
          "[mongo][bell][R9][R12]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection("maxPoolSize=8"), {.call_limit = 10s});
  const auto another = open_mongo_store(server.connection(), {});
  Listener listener(*store);
  ring_until_heard(*another, "jobs", listener);
  const FailPoint slow(server, "aggregate", kLocks,
                       R"("blockConnection": true, "blockTimeMS": 5000)", R"("alwaysOn")");
  std::atomic<bool> done = false;
  std::atomic<int> begun = 0;
  std::vector<std::future<void>> threads;
  for (int thread = 0; thread != 24; ++thread) {
    threads.push_back(std::async(std::launch::async, [&] {
      for (++begun; !done;) failure_of([&] { store->inspect("jobs", Freshness::ordinary); });
    }));
  }
  wait_until("all threads look", [&] { return begun == 24; });
  for (int ping = 0; ping != 10; ++ping) {
    CHECK(failure_of([&] { store->ping("a"); }) == std::nullopt);
  }
  done = true;
}
