// Answers whose parts have been replaced at random, one at a time: each ends in an error or in what
// the answer says, and never ends the process. DISTLOCK_ANSWERS_SEED repeats a run.
#include <catch2/catch.hpp>
#include <random>
#include <variant>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "mongo/spoiler.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"
#include "support/seed.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {
constexpr std::string_view kTime = R"({"$date": {"$numberLong": "1300000000000"}})";

std::string lock_json() {
  return R"({"_id": "jobs", "state": 1, "process": "db7:1:1", "who": "db7:1:1:main:2", "why": "test",
      "when": )" +
         std::string(kTime) + R"(, "ts": {"$oid": ")" + to_hex(kOurs) +
         R"("}, "fence": {"$numberLong": "7"}, "takeover_after": {"$numberLong": "960000"}})";
}

std::string ping_json() {
  return R"({"_id": "db7:1:1", "ping": )" + std::string(kTime) + R"(, "clock": "mongod:mock"})";
}

// Adds the fields that servers add to every answer.
std::string answer_json(const std::string& fields) {
  return "{" + fields + R"(, "ok": 1.0, "operationTime": {"$timestamp": {"t": 5, "i": 1}},
      "$clusterTime": {"clusterTime": {"$timestamp": {"t": 5, "i": 1}},
                       "signature": {"keyId": {"$numberLong": "0"}}},
      "electionId": {"$oid": "7fffffff0000000000000001"}})";
}

std::string batch_json(const std::string& documents) {
  return answer_json(R"("cursor": {"id": {"$numberLong": "0"}, "ns": "config.locks",
      "firstBatch": [)" +
                     documents + "]}");
}

// Sound answers of every kind that there is.
std::vector<std::string> sound_answers() {
  const std::string value = "\"value\": " + lock_json();
  return {answer_json(value + R"(, "lastErrorObject": {"n": 1, "updatedExisting": true})"),
          answer_json("\"value\": " + ping_json()),
          answer_json("\"value\": null"),
          answer_json(value + R"(, "writeConcernError": {"code": 64, "errmsg": "waiting",
              "errInfo": {"wtimeout": true}, "errorLabels": ["RetryableWriteError"]})"),
          answer_json(R"("n": 1, "writeErrors": [{"index": 0, "code": 11000, "errmsg": "dup"}])"),
          R"({"ok": 0.0, "errmsg": "not primary", "code": 10107, "codeName": "NotWritablePrimary",
              "errorLabels": ["RetryableWriteError"], "topologyVersion": {
                  "processId": {"$oid": "4d7f0000000000000000ffff"},
                  "counter": {"$numberLong": "6"}}})",
          batch_json(lock_json() + "," + lock_json()),
          batch_json(ping_json()),
          batch_json(R"({"lock": )" + lock_json() + R"(, "now": )" + std::string(kTime) +
                     R"(, "ping": [)" + ping_json() + "]}")};
}

// The result of a call: its error, or its answer as text.
using Outcome = std::variant<Errc, std::string>;

template <class Operation>
Outcome outcome_of(const Operation& operation) {
  try {
    return operation();
  } catch (const Error& error) {
    return error.errc();
  }
}

// A store whose server answers everything alike.
class Answering {
 public:
  Answering()
      : server_(json("{" + standalone_hello() + "}")),
        store_(open_mongo_store(
            ConnectionString("mongodb://127.0.0.1:" + std::to_string(server_.port()) + "/"),
            {.call_limit = 20s})) {}

  void answer(const Bson& answer) {
    const std::string text = answer.json();
    server_.answer_with([text](const Bson&) { return json(text); });
  }
  MockServer& server() { return server_; }
  Outcome claim(const ClaimBasis& basis) {
    return outcome_of([&] { return granted(store_->claim("jobs", basis, claim())); });
  }
  Outcome stand() {
    return outcome_of([&] { return granted(store_->line()->stand("jobs", claim()).hold); });
  }
  Outcome release() {
    return outcome_of([&]() -> std::string {
      return store_->release("jobs", kOurs) == ReleaseResult::not_ours ? "not ours" : "free";
    });
  }
  Outcome look() {
    return outcome_of([&]() -> std::string {
      return store_->inspect("jobs", Freshness::fresh).lock ? "there" : "absent";
    });
  }
  Outcome other(std::uint64_t which) {
    return outcome_of([&]() -> std::string {
      if (which == 0) return store_->ping("db7:1:1").process;
      if (which == 1) return store_->remove_ping("db7:1:1"), "removed";
      if (which == 2) return std::to_string(store_->forget_pings(96h));
      if (which == 3) return std::to_string(store_->holds("x").size());
      return std::to_string(store_->list().locks.size());
    });
  }

 private:
  Claim claim() const { return our_claim_until({StoreTime{std::chrono::hours{480000}}, clock_}); }
  static std::string granted(const std::optional<LockRecord>& lock) {
    if (!lock) return "refused";
    return lock->ts == kOurs && lock->taken() && lock->fence > 0 ? "granted" : "granted oddly";
  }

  MockServer server_;
  std::shared_ptr<Store> store_;
  std::string clock_ = "mongod:127.0.0.1:" + std::to_string(server_.port());
};

std::mt19937_64 random_answers() { return std::mt19937_64(seed_from("DISTLOCK_ANSWERS_SEED")); }

bool said(const Outcome& outcome, std::string_view word) {
  return std::holds_alternative<std::string>(outcome) && std::get<std::string>(outcome) == word;
}

bool is_null(const Bson& answer, const char* field) {
  const auto found = find(answer.get(), field);
  return found && BSON_ITER_HOLDS_NULL(&*found);
}

bool is_empty_array(const Bson& answer, const char* path) {
  const auto found = find(answer.get(), path);
  return found && BSON_ITER_HOLDS_ARRAY(&*found) &&
         !find(answer.get(), (path + std::string(".0")).c_str());
}

bool carries_ours(const Bson& answer) {
  const auto value = find(answer.get(), "value");
  const auto document = value ? document_at(&*value) : std::nullopt;
  const Value* ts = document ? find_field(*document, "ts") : nullptr;
  return ts != nullptr && *ts == Value(kOurs);
}

// Whether it hides whose hold it shows.
bool has_no_token(const Bson& answer) {
  const auto value = find(answer.get(), "value");
  const auto document = value ? document_at(&*value) : std::nullopt;
  const Value* ts = document ? find_field(*document, "ts") : nullptr;
  return ts == nullptr || !std::holds_alternative<Token>(*ts);
}

// Whether the answer is the free document that a late claim from no document leaves.
bool is_left_free(const Bson& answer) {
  const auto state = find(answer.get(), "value.state");
  return state && bson_iter_as_double(&*state) == 0;
}

// Whether a server that says this has changed nothing.
bool says_no(const Bson& answer) {
  return is_null(answer, "value") || find(answer.get(), "writeErrors") ||
         find(answer.get(), "code");
}

}  // namespace

TEST_CASE("an answer with a part of another kind is an error or is read as it stands",
          "[mongo][R8]") {
  std::mt19937_64 random = random_answers();
  const std::vector<std::string> sound = sound_answers();
  Answering scene;
  for (int i = 0; i < 300; ++i) {
    const Bson answer = spoilt(json(sound[random() % sound.size()]), random);
    INFO("answer " << i << ": " << answer.json());
    scene.answer(answer);
    const ClaimBasis basis = random() % 2 == 0 ? ClaimBasis{FromFree{}} : ClaimBasis{FromAbsent{}};
    switch (random() % 5) {
      case 0: {
        const Outcome claim = scene.claim(basis);
        CHECK_FALSE(said(claim, "granted oddly"));
        if (said(claim, "granted")) CHECK(carries_ours(answer));
        if (said(claim, "refused")) CHECK((says_no(answer) || is_left_free(answer)));
        break;
      }
      case 3: {
        const Outcome place = scene.stand();
        CHECK_FALSE(said(place, "granted oddly"));
        if (said(place, "granted")) CHECK(carries_ours(answer));
        const bool shown = is_left_free(answer) || !(carries_ours(answer) || has_no_token(answer));
        if (said(place, "refused")) CHECK(shown);
        break;
      }
      case 1:
        if (said(scene.release(), "not ours")) CHECK(says_no(answer));
        break;
      case 2:
        if (said(scene.look(), "absent")) CHECK(is_empty_array(answer, "cursor.firstBatch"));
        break;
      default:
        static_cast<void>(scene.other(random() % 5));
    }
  }
}

TEST_CASE("an answer with a byte of another value ends no process", "[mongo][R8]") {
  std::mt19937_64 random = random_answers();
  const std::vector<std::string> sound = sound_answers();
  Answering scene;
  for (int i = 0; i < 40; ++i) {
    scene.answer(json(sound[random() % sound.size()]));
    scene.server().spoil_with([at = random(), byte = random()](std::string& message) {
      message[at % message.size()] = static_cast<char>(byte);
    });
    const std::uint64_t which = random() % 8;
    if (which == 5) CHECK_FALSE(said(scene.claim(FromFree{}), "granted oddly"));
    if (which == 6) static_cast<void>(scene.release());
    if (which == 7) static_cast<void>(scene.look());
    if (which < 5) static_cast<void>(scene.other(which));
  }
}
