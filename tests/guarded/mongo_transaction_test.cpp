#include "mongo_transaction.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "guarded/mongo_counter.h"
#include "guarded/stopped_holders.h"
#include "mongo/server.h"
#include "support/crowd.h"

namespace distlock::testing {
namespace {

using guarded::Operation;
using guarded::Outcome;

/// A database of one's own on a replica set, with a lock and data.
struct TransactionScene {
  TransactionScene() {
    // Before 4.4 a transaction cannot make a collection.
    server.run(json(R"({"create": "resources"})"));
  }

  Scene workers() const {
    const std::string uri = server.connection().text();
    return {MONGO_TRANSACTION_WORKER, uri, uri};
  }
  std::unique_ptr<DistributedLock> lock() const {
    return std::make_unique<DistributedLock>(std::make_shared<DistributedLockPinger>(Environment{
                                                 .store = open_store(server.connection())}),
                                             "balancer");
  }
  bool set(std::int64_t value, const Operation& operation) const {
    return set_value(resources.get(), "r", value, operation.session, operation.reply,
                     operation.error);
  }
  Outcome write(const LockRecord& hold, std::int64_t value) const {
    return guarded::change_if_held(
        client.get(), locks.get(), hold,
        [&](const Operation& operation) { return set(value, operation); });
  }
  std::optional<Document> stored() const { return server.raw("resources", "r"); }

  Server server{replica_set_uri()};
  MongoClient client{mongoc_client_new(server.connection().text().c_str())};
  Collection resources{
      mongoc_client_get_collection(client.get(), server.database().c_str(), "resources")};
  Collection locks{mongoc_client_get_collection(client.get(), server.database().c_str(), "locks")};
};

TEST_CASE("a transaction with the lock: a holder stopped beyond its lease is refused, 100 of 100",
          "[guarded][R10]") {
  const TransactionScene scene;
  CHECK(stop_holders(scene.workers(), true, 100).refused == 100);
}

TEST_CASE("a transaction with the lock: without it such a holder corrupts the data",
          "[guarded][R10]") {
  const TransactionScene scene;
  CHECK(stop_holders(scene.workers(), false, 20).corrupted == 20);
}

TEST_CASE("a transaction with the lock: a paused thread is refused once another gave its lock up",
          "[guarded][R10][R21]") {
  const TransactionScene scene;
  PassingScene threads({patient_options(), patient_options()}, false,
                       open_store(scene.server.connection()));
  const LockRecord paused = threads.first->hold();
  REQUIRE(threads.first->lock->unlock() == UnlockResult::released);
  const LockRecord next = threads.second().hold();
  CHECK(scene.write(next, 1) == Outcome::written);
  CHECK(scene.write(paused, 2) == Outcome::refused);
}

TEST_CASE("a transaction with the lock: only the hold that the lock has now may write",
          "[guarded][R10]") {
  const TransactionScene scene;
  const auto lock = scene.lock();
  REQUIRE(lock->lock_try("x"));
  const LockRecord hold = lock->record();
  CHECK(scene.write(hold, 1) == Outcome::written);
  CHECK(scene.write(hold, 2) == Outcome::written);
  CHECK(lock->still_held());

  SECTION("not after its release") { CHECK(lock->unlock() == UnlockResult::released); }
  SECTION("not after another claim") {
    lock->unlock();
    REQUIRE(lock->lock_try("y"));
  }
  SECTION("not once somebody has deleted the lock's document") {
    scene.server.run(json(R"({"delete": "locks", "deletes": [{"q": {}, "limit": 0}]})"));
  }
  const auto before = scene.stored();
  CHECK(scene.write(hold, 3) == Outcome::refused);
  CHECK(scene.stored() == before);
}

TEST_CASE("a transaction with the lock: a takeover waits for one that has begun",
          "[guarded][R10]") {
  const TransactionScene scene;
  const auto lock = scene.lock();
  REQUIRE(lock->lock_try("x"));
  const LockRecord hold = lock->record();
  const auto rival = open_store(scene.server.connection(), {.call_limit = std::chrono::seconds{1}});
  const auto take_over = [&] {
    const Inspection seen = rival->inspect("balancer", Freshness::fresh);
    return rival->claim("balancer", FromHold{hold.ts.value()},
                        {.process = "rival",
                         .ts = Token{{9}},
                         .takeover_after = std::chrono::minutes{1},
                         .cutoff = {seen.now->time + std::chrono::seconds{1}, seen.now->clock}});
  };
  bool got_through = false;
  const Outcome outcome = guarded::change_if_held(
      scene.client.get(), scene.locks.get(), hold, [&](const Operation& operation) {
        try {
          got_through = got_through || take_over().has_value();
        } catch (const Error&) {
          // It waited for longer than a call may take.
        }
        return scene.set(5, operation);
      });
  CHECK(outcome == Outcome::written);
  CHECK_FALSE(got_through);
  CHECK(take_over().has_value());
  CHECK(scene.write(hold, 6) == Outcome::refused);
}

}  // namespace
}  // namespace distlock::testing
