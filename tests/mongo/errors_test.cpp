#include <catch2/catch.hpp>

#include "mongo/attempts.h"
#include "mongo/faults.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// One free lock, one held by us, and a store to try things with.
struct Scene {
  Server server;
  std::shared_ptr<Store> store;

  explicit Scene(const std::string& uri, const StoreOptions& options = {})
      : server(uri), store(open_mongo_store(server.connection(), options)) {
    store->ping("db7:1:1");
    server.put(kLocks, json(R"({"_id": "free", "state": 0, "who": ""})"));
    store->claim("held", FromAbsent{}, our_claim(*store));
  }

  bool claimed(std::string_view name) const {
    const auto lock = server.raw(kLocks, name);
    return lock && lock_from(*lock).taken();
  }
};

struct Write {
  std::string name;
  std::string_view collection;
  std::function<void(Scene&)> make;
};

const Write kClaim{"claim", kLocks, [](Scene& scene) {
                     const Claim claim = our_claim(*scene.store);
                     static_cast<void>(scene.store->claim("free", FromFree{}, claim));
                   }};
const Write kFirstClaim{"first claim", kLocks, [](Scene& scene) {
                          Claim claim = our_claim(*scene.store);
                          claim.ts = Token{{8}};
                          static_cast<void>(scene.store->claim("new", FromAbsent{}, claim));
                        }};
const Write kTakeover{"takeover", kLocks, [](Scene& scene) {
                        Claim claim = our_claim(*scene.store);
                        claim.process = "next";
                        static_cast<void>(scene.store->claim("held", FromHold{kOurs}, claim));
                      }};
const Write kRelease{"release", kLocks, [](Scene& scene) { scene.store->release("held", kOurs); }};
const Write kPing{"ping", kLockPings, [](Scene& scene) { scene.store->ping("db7:1:1"); }};
const Write kFarewell{"removal of a ping", kLockPings,
                      [](Scene& scene) { scene.store->remove_ping("db7:1:1"); }};

struct Answer {
  int code;
  Errc expected;
};

}  // namespace

TEST_CASE("each refusal of a write by the server has its error code", "[mongo][R8]") {
  const Write write = GENERATE(values({kClaim, kTakeover, kRelease, kPing, kFarewell}));
  const Answer answer = GENERATE(values<Answer>({{112, Errc::not_applied},
                                                 {10107, Errc::not_applied},
                                                 {13435, Errc::not_applied},
                                                 {13, Errc::permission_denied},
                                                 {11600, Errc::outcome_unknown},
                                                 {11602, Errc::outcome_unknown},
                                                 {91, Errc::outcome_unknown},
                                                 {189, Errc::outcome_unknown},
                                                 {50, Errc::outcome_unknown},
                                                 {262, Errc::outcome_unknown}}));
  INFO(write.name << ", code " << answer.code);
  Scene scene(standalone_uri());
  {
    const FailPoint fail(scene.server, "findAndModify", write.collection,
                         "\"errorCode\": " + std::to_string(answer.code));
    CHECK(failure_of([&] { write.make(scene); }) == answer.expected);
  }
  CHECK_FALSE(scene.claimed("free"));
  CHECK(lock_from(*scene.server.raw(kLocks, "held")).process == "db7:1:1");
  CHECK(scene.claimed("held"));
  CHECK(scene.server.raw(kLockPings, "db7:1:1"));
}

TEST_CASE("a write that an operator's unique index keeps out is an error", "[mongo][R8]") {
  const Write write = GENERATE(values({kClaim, kFirstClaim, kRelease}));
  INFO(write.name);
  Scene scene(standalone_uri());
  scene.server.run(doc(
      {{"createIndexes", kLocks},
       {"indexes",
        array(
            {doc({{"key", doc({{"state", 1}})}, {"name", "an operator's"}, {"unique", true}})})}}));
  CHECK(failure_of([&] { write.make(scene); }) == Errc::not_applied);
  CHECK_FALSE(scene.claimed("free"));
  CHECK(scene.claimed("held"));
}

TEST_CASE("a connection lost under a write leaves its outcome unknown", "[mongo][R8]") {
  const Write write = GENERATE(values({kClaim, kTakeover, kRelease, kPing, kFarewell}));
  Scene scene(GENERATE(values({standalone_uri(), replica_set_uri()})));
  const FailPoint fail(scene.server, "findAndModify", write.collection,
                       R"("closeConnection": true)");
  INFO(write.name);
  CHECK(failure_of([&] { write.make(scene); }) == Errc::outcome_unknown);
}

TEST_CASE("a write that is not replicated in time was applied all the same", "[mongo][R8]") {
  const int code = GENERATE(64, 91, 100, 11602);
  INFO("code " << code);
  Scene scene(replica_set_uri());
  const auto outcome_of = [&](const Write& write) {
    const FailPoint fail(
        scene.server, "findAndModify", write.collection,
        R"("writeConcernError": {"errmsg": "planted", "code": )" + std::to_string(code) + "}");
    return failure_of([&] { write.make(scene); });
  };
  SECTION("a claim") {
    CHECK(outcome_of(kClaim) == Errc::outcome_unknown);
    CHECK(scene.claimed("free"));
  }
  SECTION("a takeover") {
    CHECK(outcome_of(kTakeover) == Errc::outcome_unknown);
    CHECK(lock_from(*scene.server.raw(kLocks, "held")).process == "next");
  }
  SECTION("a release") {
    CHECK(outcome_of(kRelease) == Errc::outcome_unknown);
    CHECK_FALSE(scene.claimed("held"));
  }
  SECTION("a ping") {
    const auto before = ping_from(*scene.server.raw(kLockPings, "db7:1:1")).ping;
    wait_until("a later time", [&] { return scene.store->list().now.time > before; });
    CHECK(outcome_of(kPing) == Errc::outcome_unknown);
    CHECK(ping_from(*scene.server.raw(kLockPings, "db7:1:1")).ping > before);
  }
  SECTION("the removal of a ping") {
    CHECK(outcome_of(kFarewell) == Errc::outcome_unknown);
    CHECK_FALSE(scene.server.raw(kLockPings, "db7:1:1"));
  }
}

TEST_CASE("a claim that arrives after its cutoff takes nothing", "[mongo][R8]") {
  Scene scene(standalone_uri());
  const auto hasty = open_mongo_store(scene.server.connection(), {.call_limit = 5s});
  const auto claims_done = [&] {
    const Bson status = scene.server.admin(doc({{"serverStatus", 1}}));
    const auto total = find(status.get(), "metrics.commands.findAndModify.total");
    return total ? bson_iter_as_int64(&*total) : 0;
  };
  const bool absent = GENERATE(true, false);
  const Claim claim = our_claim(*scene.store, 1s);
  const std::int64_t before = claims_done();
  {
    const Stopped stopped(ports_of(standalone_uri()).front());
    const auto failure = failure_of([&] {
      if (absent)
        hasty->claim("absent", FromAbsent{}, claim);
      else
        hasty->claim("free", FromFree{}, claim);
    });
    CHECK(failure == Errc::outcome_unknown);
  }
  wait_until("the delayed claim's end", [&] { return claims_done() > before; });
  CHECK_FALSE(scene.claimed(absent ? "absent" : "free"));
}

TEST_CASE("a failure names the operation, the lock and the server", "[mongo]") {
  Scene scene(standalone_uri());
  const FailPoint fail(scene.server, "findAndModify", kLocks, R"("errorCode": 13)");
  std::string message;
  failure_of([&] { kRelease.make(scene); }, &message);
  CHECK_THAT(message, Catch::StartsWith("release of lock \"held\" on 127.0.0.1:"));
}

TEST_CASE("a read that fails changed nothing", "[mongo][R8]") {
  Scene scene(standalone_uri());
  const FailPoint fail(scene.server, "aggregate", kLocks, R"("closeConnection": true)");
  CHECK(failure_of([&] { scene.store->inspect("held", Freshness::fresh); }) == Errc::not_applied);
}
