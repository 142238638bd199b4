#include "mongo_document.h"

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "guarded/mongo_counter.h"
#include "guarded/stopped_holders.h"
#include "mongo/server.h"
#include "support/crowd.h"

namespace distlock::testing {
namespace {

using guarded::Outcome;
using guarded::Stamp;

const Token kOne{{1}};
const Token kTwo{{2}};

/// A database of one's own with resources and locks.
struct DocumentScene {
  /// For another thread.
  struct Handle {
    explicit Handle(const Server& server)
        : client(mongoc_client_new(server.connection().text().c_str())),
          resources(
              mongoc_client_get_collection(client.get(), server.database().c_str(), "resources")) {}
    MongoClient client;
    Collection resources;
  };

  Scene workers() const {
    const std::string uri = server.connection().text();
    return {MONGO_DOCUMENT_WORKER, uri, uri};
  }
  auto read(const Stamp& stamp) const { return read_value(resources.get(), "r", stamp); }
  Outcome write(const Stamp& stamp, std::int64_t value) const {
    return write_value(resources.get(), "r", stamp, value);
  }
  /// The next `times` findAndModify of this client alone meet the fault.
  void fail(int times, const std::string& fault) const {
    server.admin(json(R"({"configureFailPoint": "failCommand", "mode": {"times": )" +
                      std::to_string(times) + R"(}, "data": {"failCommands": ["findAndModify"],)" +
                      R"("appName": "guarded", )" + fault + "}}"));
  }

  Server server{standalone_uri()};
  MongoClient client{mongoc_client_new(server.connection("appName=guarded").text().c_str())};
  Collection resources{
      mongoc_client_get_collection(client.get(), server.database().c_str(), "resources")};
  Collection locks{mongoc_client_get_collection(client.get(), server.database().c_str(), "locks")};
};

TEST_CASE("a document with a fence: a holder stopped beyond its lease is refused, 100 of 100",
          "[guarded][R10]") {
  const DocumentScene scene;
  CHECK(stop_holders(scene.workers(), true, 100).refused == 100);
}

TEST_CASE("a document with a fence: without the guard such a holder corrupts it",
          "[guarded][R10]") {
  const DocumentScene scene;
  CHECK(stop_holders(scene.workers(), false, 20).corrupted == 20);
}

TEST_CASE("a document with a fence: a thread that has passed its hold on is refused",
          "[guarded][R10][R21]") {
  const DocumentScene scene;
  PassingScene threads({patient_options(), patient_options()}, false,
                       open_store(scene.server.connection()));
  const LockRecord before = threads.first->hold();
  threads.first->give_up();
  const LockRecord next = threads.second().hold();
  REQUIRE(next.ts == before.ts);
  CHECK(scene.write({.fence = next.fence, .ts = *next.ts, .number = 1}, 1) == Outcome::written);
  CHECK(scene.write({.fence = before.fence, .ts = *before.ts, .number = 9}, 2) == Outcome::refused);
}

TEST_CASE("a document with a fence: changes come through in the order of their stamps",
          "[guarded][R10]") {
  const DocumentScene scene;
  SECTION("the first write makes the document") {}
  SECTION("the first write finds one that was never guarded") {
    scene.server.put("resources", json(R"({"_id": "r", "value": 3, "other": true})"));
  }
  CHECK(scene.write({.fence = 5, .ts = kOne, .number = 2}, 10) == Outcome::written);
  CHECK(scene.write({.fence = 5, .ts = kOne, .number = 2}, 10) == Outcome::written);
  CHECK(scene.write({.fence = 5, .ts = kOne, .number = 1}, 7) == Outcome::refused);
  CHECK(scene.write({.fence = 4, .ts = kTwo, .number = 9}, 7) == Outcome::refused);
  CHECK(scene.write({.fence = 5, .ts = kTwo, .number = 9}, 7) == Outcome::refused);
  CHECK_FALSE(scene.read({.fence = 4, .ts = kTwo, .number = 9}));
  CHECK(scene.read({.fence = 5, .ts = kOne, .number = 3}) == 10);
}

TEST_CASE("a document with a fence: of first writes at once the one with the greatest fence stays",
          "[guarded][R10]") {
  constexpr int kWriters = 8;
  constexpr int kRounds = 100;
  const DocumentScene scene;
  std::barrier together(kWriters);
  std::atomic<int> greatest_written = 0;
  std::vector<std::jthread> writers;
  for (int fence = 1; fence <= kWriters; ++fence) {
    writers.emplace_back([&, fence] {
      const DocumentScene::Handle handle(scene.server);
      for (int round = 0; round < kRounds; ++round) {
        together.arrive_and_wait();
        const Outcome outcome =
            guarded::write_value(handle.resources.get(), "r" + std::to_string(round),
                                 {.fence = fence, .ts = kOne}, fence);
        if (fence == kWriters && outcome == Outcome::written) ++greatest_written;
      }
    });
  }
  writers.clear();
  CHECK(greatest_written == kRounds);
  for (int round = 0; round < kRounds; ++round) {
    CHECK(guarded::read_value(scene.resources.get(), "r" + std::to_string(round),
                              {.fence = kWriters, .ts = kOne, .number = 2}) == kWriters);
  }
}

TEST_CASE("a document with a fence: a read keeps out all earlier holds", "[guarded][R10]") {
  const DocumentScene scene;
  CHECK(scene.read({.fence = 1, .ts = kOne, .number = 1}) == 0);
  CHECK(scene.read({.fence = 2, .ts = kTwo, .number = 1}) == 0);
  CHECK(scene.write({.fence = 1, .ts = kOne, .number = 2}, 7) == Outcome::refused);
}

TEST_CASE("a document with a fence: a write whose reply was lost is repeated and written once",
          "[guarded][R8]") {
  const DocumentScene scene;
  SECTION("before it was made") { scene.fail(1, R"("closeConnection": true)"); }
  SECTION("after it was made") {
    scene.fail(1, R"("writeConcernError": {"code": 91, "errmsg": "shutting down"})");
  }
  CHECK(scene.write({.fence = 1, .ts = kOne, .number = 1}, 7) == Outcome::written);
  CHECK(scene.read({.fence = 1, .ts = kOne, .number = 2}) == 7);
}

TEST_CASE("a document with a fence: a write that is never answered is of unknown outcome",
          "[guarded][R8]") {
  const DocumentScene scene;
  scene.fail(3, R"("closeConnection": true)");
  try {
    scene.write({.fence = 1, .ts = kOne, .number = 1}, 7);
    FAIL("it was answered");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::outcome_unknown);
  }
  CHECK(scene.write({.fence = 1, .ts = kOne, .number = 1}, 7) == Outcome::written);
}

TEST_CASE("after the lock's document was deleted nobody may write until its fence is raised",
          "[guarded][R10]") {
  const DocumentScene scene;
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = open_store(scene.server.connection())});
  const auto claim = [&](DistributedLock& lock) {
    REQUIRE(lock.lock_try("x"));
    return Stamp{.fence = lock.fence(), .ts = lock.record().ts.value()};
  };
  DistributedLock before(pinger, "balancer");
  const Stamp early = claim(before);
  CHECK(scene.write(early, 1) == Outcome::written);

  scene.server.run(json(R"({"delete": "locks", "deletes": [{"q": {}, "limit": 0}]})"));
  DistributedLock after(pinger, "balancer");
  const Stamp same_fence = claim(after);
  CHECK(same_fence.fence == early.fence);
  CHECK(scene.write(same_fence, 2) == Outcome::refused);
  CHECK(scene.write({.fence = early.fence, .ts = early.ts, .number = 2}, 3) == Outcome::written);

  SECTION("under a hold, which is released then") {
    guarded::raise_fence(scene.locks.get(), "balancer", early.fence + guarded::kFencesSkipped);
    CHECK(after.still_held());
    CHECK(after.unlock() == UnlockResult::released);
  }
  SECTION("while there is no document") {
    scene.server.run(json(R"({"delete": "locks", "deletes": [{"q": {}, "limit": 0}]})"));
    guarded::raise_fence(scene.locks.get(), "balancer", early.fence + guarded::kFencesSkipped);
    after.unlock();
  }
  guarded::raise_fence(scene.locks.get(), "balancer", 1);
  const Stamp late = claim(after);
  CHECK(late.fence == early.fence + guarded::kFencesSkipped + 1);
  CHECK(scene.write(late, 4) == Outcome::written);
  CHECK(scene.write({.fence = early.fence, .ts = early.ts, .number = 3}, 5) == Outcome::refused);
}

}  // namespace
}  // namespace distlock::testing
