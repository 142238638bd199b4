// Releases that a real server refuses for good: the others do not wait for them.
#include <catch2/catch.hpp>

#include "distlock/distributed_lock.h"
#include "mongo/faults.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"
#include "support/manual_clock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A process that holds "spoilt" and "sound", and whose releases of both are pending, in this
/// order. The pauses of an unlock take no time.
struct TwoPending {
  explicit TwoPending(const Server& server, std::chrono::milliseconds call_limit = 10s)
      : store(open_mongo_store(server.connection(), {.call_limit = call_limit})),
        pinger(std::make_shared<DistributedLockPinger>(
            Environment{
                .store = store, .clock = std::make_shared<ManualClock>(), .process = "holder"},
            PingerOptions{}, PingerDrive::caller)),
        spoilt(pinger, "spoilt"),
        sound(pinger, "sound") {
    REQUIRE(spoilt.lock_try("test"));
    REQUIRE(sound.lock_try("test"));
  }

  // `refusal` has begun: the server refuses the first.
  void unlock_both(const Server& server) {
    REQUIRE(spoilt.unlock() == UnlockResult::pending);
    const FailPoint refusal(server, "findAndModify", kLocks, R"("errorCode": 112)",
                            R"("alwaysOn")");
    REQUIRE(sound.unlock() == UnlockResult::pending);
  }

  bool taken(const std::string& name) const {
    return store->inspect(name, Freshness::fresh).lock->taken();
  }

  // Of one round. The first is asked for before the second.
  void expect_the_second_free_after_a_round() {
    REQUIRE(pinger->stats().pending_releases == 2);
    pinger->ping_round();
    CHECK(taken("spoilt"));
    CHECK_FALSE(taken("sound"));
    CHECK(pinger->stats().pending_releases == 1);
  }

  void expect_the_first_free_after_a_round() {
    pinger->ping_round();
    CHECK_FALSE(taken("spoilt"));
    CHECK(pinger->stats().pending_releases == 0);
  }

  std::shared_ptr<Store> store;
  std::shared_ptr<DistributedLockPinger> pinger;
  DistributedLock spoilt;
  DistributedLock sound;
};

void set_validator(const Server& server, const std::string& validator) {
  server.run(
      json(R"({"collMod": ")" + std::string(kLocks) + R"(", "validator": )" + validator + "}"));
}

/// Has changed one lock, and neither commits nor ends until destroyed.
class OpenTransaction {
 public:
  OpenTransaction(const std::string& uri, const Server& server, const char* lock)
      : client_(mongoc_client_new(uri.c_str())),
        session_(mongoc_client_start_session(client_.get(), nullptr, nullptr)) {
    REQUIRE(mongoc_client_session_start_transaction(session_.get(), nullptr, nullptr));
    Bson options;
    REQUIRE(mongoc_client_session_append(session_.get(), options.get(), nullptr));
    const std::unique_ptr<mongoc_collection_t, Deleter<mongoc_collection_destroy>> locks(
        mongoc_client_get_collection(client_.get(), server.database().c_str(),
                                     std::string(kLocks).c_str()));
    REQUIRE(mongoc_collection_update_one(locks.get(), doc({{"_id", lock}}).get(),
                                         json(R"({"$set": {"why": "a transaction"}})").get(),
                                         options.get(), nullptr, nullptr));
  }
  ~OpenTransaction() { mongoc_client_session_abort_transaction(session_.get(), nullptr); }
  OpenTransaction(const OpenTransaction&) = delete;
  OpenTransaction& operator=(const OpenTransaction&) = delete;

 private:
  std::unique_ptr<mongoc_client_t, Deleter<mongoc_client_destroy>> client_;
  ClientSession session_;
};

}  // namespace

TEST_CASE("a release that a validator refuses holds up no other", "[mongo][R8][R11]") {
  const Server server(GENERATE(as<std::string>(), standalone_uri(), replica_set_uri()));
  TwoPending process(server);
  set_validator(server, R"({"$or": [{"_id": {"$ne": "spoilt"}}, {"state": {"$ne": 0}}]})");
  process.unlock_both(server);
  process.expect_the_second_free_after_a_round();
  set_validator(server, "{}");
  process.expect_the_first_free_after_a_round();
}

TEST_CASE("a release that waits for an open transaction holds up no other", "[mongo][R8][R11]") {
  wait_until_whole(replica_set_uri());
  const Server server(replica_set_uri());
  // Each release that waits takes so long.
  TwoPending process(server, 2s);
  {
    const OpenTransaction open(replica_set_uri(), server, "spoilt");
    process.unlock_both(server);
    process.expect_the_second_free_after_a_round();
  }
  process.expect_the_first_free_after_a_round();
}
