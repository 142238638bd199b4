// Answers that no MongoDB gives, of something between that only looks like one.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kNow = 1300000000000;  // In milliseconds.

// A store on a server that says hello, and then answers everything with that and these fields.
struct Odd {
  MockServer server;
  std::shared_ptr<Store> store;

  explicit Odd(const std::string& fields)
      : server(json("{" + hello() + "}")),
        store(open_mongo_store(
            ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
            {.call_limit = 20s})) {
    const std::string answer = "{" + hello() + fields + "}";
    server.answer_with([answer](const Bson&) { return json(answer); });
  }

  static std::string hello() { return standalone_hello() + R"(, "me": "mock")"; }

  std::optional<LockRecord> claim(const ClaimBasis& basis) const {
    const StoreNow cutoff{StoreTime{std::chrono::hours{480000}}, "mongod:mock"};
    return store->claim("jobs", basis, our_claim_until(cutoff));
  }
};

}  // namespace

TEST_CASE("an answer of the wrong shape leaves a write's outcome unknown", "[mongo][R8]") {
  const Odd odd(GENERATE(values<std::string>(
      {"", R"(, "value": "x")", R"(, "value": [1])",
       R"(, "value": null, "writeConcernError": {"code": "64", "errmsg": "planted"})",
       // Each of these is an assertion that fails in libmongoc, which would end the process.
       R"(, "value": null, "writeConcernError": "x")",
       R"(, "value": null, "writeConcernError": {"code": 0})", R"(, "value": null, "code": 0)",
       R"(, "value": null, "$clusterTime": [])", R"(, "value": null, "$clusterTime": 5)"})));
  const ClaimBasis basis =
      GENERATE(values<ClaimBasis>({FromAbsent{}, FromFree{}, FromHold{kOurs}}));
  CHECK(failure_of([&] { odd.claim(basis); }) == Errc::outcome_unknown);
  CHECK(failure_of([&] { odd.store->release("jobs", kOurs); }) == Errc::outcome_unknown);
  CHECK(failure_of([&] { odd.store->ping("db7:1:1"); }) == Errc::outcome_unknown);
}

TEST_CASE("an answer with another document than the claimed one leaves the claim unknown",
          "[mongo][R8]") {
  const std::string ts = R"("ts": {"$oid": "65a000000000000000000099"})";
  const Odd taken(R"(, "value": {"_id": "jobs", "state": 2, )" + ts + "}");
  const Odd free(R"(, "value": {"_id": "jobs", "state": 0, )" + ts + "}");
  const ClaimBasis basis =
      GENERATE(values<ClaimBasis>({FromAbsent{}, FromFree{}, FromHold{kOurs}}));
  CHECK(failure_of([&] { taken.claim(basis); }) == Errc::outcome_unknown);
  if (std::holds_alternative<FromHold>(basis)) {
    CHECK(failure_of([&] { free.claim(basis); }) == Errc::outcome_unknown);
  } else {
    // So the server answers a claim that is refused.
    CHECK_FALSE(free.claim(basis));
  }
}

TEST_CASE("an answer without ok is an error", "[mongo][R2][R8]") {
  Odd odd("");
  const std::string answer = GENERATE(
      values<std::string>({R"({"value": null, "n": 0})", R"({"ok": 0, "value": null, "n": 0})",
                           R"({"ok": "1", "value": null, "n": 0})"}));
  odd.server.answer_with([answer](const Bson&) { return json(answer); });
  CHECK(failure_of([&] { odd.claim(FromFree{}); }) == Errc::outcome_unknown);
  CHECK(failure_of([&] { odd.store->release("jobs", kOurs); }) == Errc::outcome_unknown);
  CHECK(failure_of([&] { odd.store->inspect("jobs", Freshness::fresh); }) == Errc::not_applied);
}

TEST_CASE("an answer whose ok is true is as good as one whose ok is 1", "[mongo][R8]") {
  Odd odd("");
  const std::string ok = GENERATE("true", "1", "1.0");
  odd.server.answer_with(
      [ok](const Bson&) { return json(R"({"value": null, "ok": )" + ok + "}"); });
  CHECK(odd.store->release("jobs", kOurs) == ReleaseResult::not_ours);
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
  const Odd odd(GENERATE(values<std::string>(
      {"", R"(, "cursor": "x")", R"(, "cursor": {})", R"(, "cursor": {"firstBatch": "x"})",
       R"(, "cursor": {"firstBatch": {}})", R"(, "cursor": {"firstBatch": [5]})",
       R"(, "cursor": {"firstBatch": [{}]})", R"(, "cursor": {"firstBatch": [{"lock": 5}]})"})));
  CHECK(failure_of([&] { odd.store->inspect("jobs", Freshness::fresh); }) == Errc::not_applied);
}

TEST_CASE("a list whose cursor is of another shape is an error", "[mongo][R9]") {
  const Odd odd(R"(, "cursor": )" +
                GENERATE(values<std::string>(
                    {"5", R"({"id": 0})", R"({"id": "0", "ns": "config.locks", "firstBatch": []})",
                     R"({"id": 0, "ns": 5, "firstBatch": {}})",
                     R"({"id": 0, "ns": "config.locks", "firstBatch": [5]})",
                     R"({"id": 7, "ns": "config.locks", "firstBatch": []})"})));
  CHECK(failure_of([&] { static_cast<void>(odd.store->holds("db7:1:1")); }) == Errc::not_applied);
  CHECK(failure_of([&] { static_cast<void>(odd.store->list()); }) == Errc::not_applied);
  CHECK(failure_of([&] { static_cast<void>(odd.store->line()->list_waits({})); }) ==
        Errc::not_applied);
  CHECK(failure_of([&] { odd.store->forget_pings(96h); }) == Errc::not_applied);
}

TEST_CASE("a list needs nothing of its cursor but the documents", "[mongo]") {
  const Odd odd(R"(, "cursor": {"id": 0, "ns": {"x": 1}, "firstBatch": []})");
  CHECK(odd.store->holds("db7:1:1").empty());
}

TEST_CASE("a look that was not told the time is an error", "[mongo][R4]") {
  const std::string now = GENERATE("", R"(, "now": 34)", R"(, "now": {"invalid": true})");
  const Odd odd(R"(, "cursor": {"id": 0, "ns": "config.locks", "firstBatch": [
      {"lock": {"_id": "jobs", "state": 0})" +
                now + "}]}");
  CHECK(failure_of([&] { odd.store->inspect("jobs", Freshness::fresh); }) == Errc::not_applied);
}

TEST_CASE("a ping of the server's own clock that is a little later than its now is taken for now",
          "[mongo][R4]") {
  const auto seen_with = [](const std::string& clock, std::int64_t later, std::int64_t now = kNow) {
    const std::string ts = R"({"$oid": ")" + to_hex(kOurs) + "\"}";
    const std::string stamp = std::to_string(now + later);
    const Odd odd(R"(, "cursor": {"id": 0, "ns": "config.locks", "firstBatch": [
        {"lock": {"_id": "jobs", "state": 2, "process": "db7:1:1", "who": "db7:1:1:main:2",
                  "why": "test", "when": {"$date": {"$numberLong": "1200000000000"}}, "ts": )" +
                  ts + R"(},
         "now": {"$date": {"$numberLong": ")" +
                  std::to_string(now) + R"("}},
         "ping": [{"_id": "db7:1:1", "ping": {"$date": {"$numberLong": ")" +
                  stamp + R"("}}, "clock": ")" + clock + "\"}]}]}");
    Inspection seen = odd.store->inspect("jobs", Freshness::fresh);
    REQUIRE((seen.now && seen.ping));
    return seen;
  };
  const StoreTime now{std::chrono::milliseconds{kNow}};
  CHECK(seen_with("mongod:mock", -1).now->time == now);
  CHECK(seen_with("mongod:mock", 999).now->time == now + 999ms);
  // So far apart is skew.
  const Inspection skewed = seen_with("mongod:mock", 1000);
  CHECK(skewed.now->time == now);
  CHECK(skewed.ping->ping == now + 1s);
  CHECK(seen_with("mongod:another", 500).now->time == now);
  // The last time there is, and one a little before.
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  CHECK(seen_with("mongod:mock", 5, kLast - 5).now->time == StoreTime::max());
}

TEST_CASE("an opening that an unsound answer has ended spoils no later error of another server",
          "[mongo][R8]") {
  Odd rejecting("");
  rejecting.server.answer_with(
      [](const Bson&) { return json(R"({"ok": 0, "code": 112, "errmsg": "planted"})"); });
  MockServer unsound(json("{" + standalone_hello() + "}"));
  unsound.answer_with([](const Bson&) { return json(R"({"ok": 0, "code": 0})"); });
  const ConnectionString connection("mongodb://127.0.0.1:" + std::to_string(unsound.port()) + "/");
  REQUIRE(failure_of([&] { open_mongo_store(connection, {.call_limit = 20s}); }) ==
          Errc::not_applied);
  std::string message;
  CHECK(failure_of([&] { rejecting.store->release("jobs", kOurs); }, &message) ==
        Errc::not_applied);
  CHECK_THAT(message, Catch::Contains("planted"));
}

TEST_CASE("a write that was refused is refused, whatever the server says of the user's rights",
          "[mongo][R8][R14]") {
  Odd odd("");
  odd.server.answer_with([](const Bson& command) {
    bson_iter_t first;
    const bool asks_why =
        bson_iter_init(&first, command.get()) && bson_iter_find(&first, "connectionStatus");
    return json(asks_why ? R"({"ok": 0, "code": 0})" : R"({"ok": 0, "code": 13, "errmsg": "no"})");
  });
  CHECK(failure_of([&] { odd.store->release("jobs", kOurs); }) == Errc::permission_denied);
}

TEST_CASE("an answer of a length that no message has is refused before the rest is read",
          "[mongo][R8]") {
  Odd odd("");
  // 15 and 16 leave no room for a header, or for what is behind it.
  const std::int32_t length = GENERATE(-1, 0, 15, 16, 48'000'001);
  odd.server.spoil_with(
      [length](std::string& message) { std::memcpy(message.data(), &length, sizeof length); });
  std::string message;
  CHECK(failure_of([&] { odd.store->release("jobs", kOurs); }, &message) == Errc::outcome_unknown);
  CHECK_THAT(message, Catch::Contains("has an impossible length"));
}
