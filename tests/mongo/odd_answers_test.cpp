// Answers that no MongoDB gives, of something between that only looks like one.
#include <catch2/catch.hpp>

#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kHello = R"(
    "ismaster": true, "me": "mock", "maxBsonObjectSize": 16777216,
    "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
    "minWireVersion": 0, "maxWireVersion": 17, "ok": 1.0)";

// A store on a server that answers everything with `hello` and these fields.
struct Odd {
  MockServer server;
  std::shared_ptr<Store> store;

  explicit Odd(const std::string& fields)
      : server(json("{" + std::string(kHello) + fields + "}")),
        store(open_mongo_store(
            ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
            {.call_limit = 4s})) {}

  std::optional<LockRecord> claim(const ClaimBasis& basis) const {
    const Claim claim{.process = "db7:1:1",
                      .who = "db7:1:1:main:2",
                      .why = "test",
                      .ts = kOurs,
                      .takeover_after = 16min,
                      .cutoff = {StoreTime{std::chrono::hours{480000}}, "mongod:mock", false}};
    return store->claim("jobs", basis, claim);
  }
};

}  // namespace

TEST_CASE("an answer of the wrong shape leaves a write's outcome unknown", "[mongo][R8]") {
  const Odd odd(GENERATE(values<std::string>(
      {"", R"(, "value": "x")", R"(, "value": [1])",
       R"(, "value": null, "writeConcernError": {"code": "64", "errmsg": "planted"})"})));
  const ClaimBasis basis =
      GENERATE(values<ClaimBasis>({FromAbsent{}, FromFree{}, FromHold{kOurs}}));
  CHECK(failure_of([&] { odd.claim(basis); }) == Errc::outcome_unknown);
  CHECK(failure_of([&] { odd.store->release("jobs", kOurs); }) == Errc::outcome_unknown);
  CHECK(failure_of([&] { odd.store->ping("db7:1:1"); }) == Errc::outcome_unknown);
}

TEST_CASE("an error of one document is the command's, though the answer says ok", "[mongo][R8]") {
  const Odd odd(
      R"(, "value": null, "writeErrors": [{"index": 0, "code": 211, "errmsg": "planted"}])");
  std::string message;
  CHECK(failure_of([&] { odd.store->release("jobs", kOurs); }, &message) == Errc::outcome_unknown);
  CHECK_THAT(message, Catch::Contains("planted"));
}

TEST_CASE("a document that somebody else has inserted meanwhile is no lock of ours",
          "[mongo][R2]") {
  const Odd odd(R"(, "value": null, "writeErrors": [{"index": 0, "code": 11000}])");
  CHECK_FALSE(odd.claim(FromAbsent{}));
  CHECK(failure_of([&] { odd.store->ping("db7:1:1"); }) == Errc::not_applied);
}

TEST_CASE("an answer of the wrong shape is no lock that nobody has claimed", "[mongo][R2]") {
  const Odd odd(GENERATE(values<std::string>({"", R"(, "cursor": "x")", R"(, "cursor": {})"})));
  CHECK(failure_of([&] { odd.store->inspect("jobs", Freshness::fresh); }) == Errc::not_applied);
}

TEST_CASE("a look that was not told the time is an error", "[mongo][R4]") {
  const std::string now = GENERATE("", R"(, "now": 34)", R"(, "now": {"invalid": true})");
  const Odd odd(R"(, "cursor": {"id": 0, "ns": "config.locks", "firstBatch": [
      {"lock": {"_id": "jobs", "state": 0})" +
                now + "}]}");
  CHECK(failure_of([&] { odd.store->inspect("jobs", Freshness::fresh); }) == Errc::not_applied);
}
