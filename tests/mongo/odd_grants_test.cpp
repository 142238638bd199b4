// Answers to a claim that say half of what was granted. The outcome is unknown then, so that what
// the store may have is freed.
#include <catch2/catch.hpp>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* kMember = R"("me": "mock")";

Claim claim_of_a_block() {
  Claim claim = our_claim_until({StoreTime{std::chrono::hours{480000}}, "mongod:mock"});
  claim.fences = 64;
  return claim;
}

// A store whose server answers every claim with a document of these fields.
struct Granting {
  MockServer server{json("{" + standalone_hello() + ", " + kMember + "}")};
  std::shared_ptr<Store> store = open_mongo_store(
      ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
      {.call_limit = 20s});

  explicit Granting(const std::string& fields) {
    const std::string answer = R"({"ok": 1, "value": {"_id": "jobs", )" + fields + "}}";
    server.answer_with([answer](const Bson&) { return json(answer); });
  }

  std::optional<LockRecord> claim(const ClaimBasis& basis = FromFree{}) const {
    return store->claim("jobs", basis, claim_of_a_block());
  }
  Standing stand() const { return store->line()->stand("jobs", claim_of_a_block()); }
};

const std::string kState = R"("state": 1, )";
const std::string kWho =
    R"("process": "db7:1:1", "who": "db7:1:1:main:2", "why": "test", "when": {"$date": 5}, )";
const std::string kTs = R"("ts": {"$oid": ")" + to_hex(kOurs) + "\"}";
const std::string kFence = R"(, "fence": {"$numberLong": "64"})";

}  // namespace

TEST_CASE("a whole answer to a claim is a grant", "[mongo][R8]") {
  const Granting whole(kState + kWho + kTs + kFence);
  CHECK(whole.claim().value().fence == 64);
  CHECK(whole.stand().hold.value().fence == 64);
}

TEST_CASE("a grant that shows no fence of the claim is unknown", "[mongo][R8][R10]") {
  const std::string fence = GENERATE(values<std::string>(
      {"", R"(, "fence": {"$numberLong": "63"})", R"(, "fence": {"$numberLong": "0"})"}));
  const Granting odd(kState + kWho + kTs + fence);
  CHECK(failure_of([&] { odd.claim(); }) == Errc::outcome_unknown);
  CHECK(failure_of([&] { odd.stand(); }) == Errc::outcome_unknown);
}

TEST_CASE("a takeover that leaves a free lock is unknown", "[mongo][R8]") {
  const Granting free(R"("state": 0, "who": "x", )" + kTs + kFence);
  CHECK(failure_of([&] { free.claim(FromHold{Token{{9}}}); }) == Errc::outcome_unknown);
  // An earlier grant that somebody has freed: the claim is refused.
  CHECK_FALSE(free.claim());
}

TEST_CASE("a place whose answer hides whether it was granted is unknown", "[mongo][R8][R14][R17]") {
  const std::string ts = GENERATE(values<std::string>({R"("x": 1)", R"("ts": "text")"}));
  const Granting hidden(kState + kWho + ts + kFence);
  CHECK(failure_of([&] { hidden.stand(); }) == Errc::outcome_unknown);
}

TEST_CASE("a malformed hold of somebody else leaves nothing unknown", "[mongo][R14][R17]") {
  const std::string others = R"("process": 5, "who": "db8:1:1:main:2", "when": {"$date": 5}, )";
  const Granting no_ts(kState + others + R"("ts": "text")");
  CHECK(failure_of([&] { no_ts.stand(); }) == Errc::bad_record);
  const Granting other_ts(kState + R"("process": 5, "ts": {"$oid": "65a000000000000000000099"})");
  CHECK(failure_of([&] { other_ts.stand(); }) == Errc::bad_record);
}

TEST_CASE("a grant that shows a smaller fence than the claim names is unknown",
          "[mongo][R8][R10]") {
  const Granting odd(kState + kWho + kTs + kFence);
  Claim claim = claim_of_a_block();
  claim.fences = 1;
  claim.fence = 64;
  CHECK(odd.store->claim("jobs", FromFree{}, claim).value().fence == 64);
  claim.fence = 65;
  CHECK(failure_of([&] { odd.store->claim("jobs", FromFree{}, claim); }) == Errc::outcome_unknown);
}
