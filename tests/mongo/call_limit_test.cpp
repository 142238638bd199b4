// A call of the store ends within its limit, however many commands it sends (R12).
#include <catch2/catch.hpp>
#include <map>

#include "mongo/attempts.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_call.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_open.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto kLimitOfCall = 4s;

std::string batch_json(const Bson& command, int cursor) {
  const bool more = find(command.get(), "getMore").has_value();
  const std::string batch = more ? "nextBatch" : "firstBatch";
  return R"({"ok": 1, "localTime": {"$date": 5}, "n": 0, "value": null, "cursor": {"id": {"$numberLong": ")" +
         std::to_string(cursor) + R"("}, ")" + batch + R"(": []}})";
}

struct Lists {
  MockServer server{json("{" + standalone_hello() + "}")};
  std::shared_ptr<Store> store = open_mongo_store(
      ConnectionString("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/"),
      {.call_limit = kLimitOfCall});

  explicit Lists(int cursor) {
    // A test that nobody stops fails, and does not hang.
    const SteadyTime end = host_clock()->steady_now() + 8 * kLimitOfCall;
    server.answer_with([cursor, end](const Bson& command) {
      const bool over = host_clock()->steady_now() >= end;
      return json(batch_json(command, over ? 0 : cursor));
    });
  }
};

}  // namespace

TEST_CASE("a list that never ends is an error when its call has lasted its limit",
          "[mongo][R9][R12]") {
  const Lists endless(77);
  CHECK(failure_of([&] { static_cast<void>(endless.store->holds("db7:1:1")); }) ==
        Errc::not_applied);
  CHECK(failure_of([&] { static_cast<void>(endless.store->list()); }) == Errc::not_applied);
}

TEST_CASE("several commands of one call have one limit together", "[mongo][R12]") {
  Lists slow(0);
  const auto late = [begun = std::map<std::string, SteadyTime>()](const Bson& command) mutable {
    const SteadyTime now = host_clock()->steady_now();
    return now - begun.try_emplace(command.json(), now).first->second < kLimitOfCall * 3 / 5;
  };
  CHECK_NOTHROW(slow.store->list());
  slow.server.hold_back_while(late);
  CHECK(failure_of([&] { static_cast<void>(slow.store->list()); }) == Errc::not_applied);
}

TEST_CASE("the limit of a call counts for nothing that its thread does afterwards",
          "[mongo][R12]") {
  const MockServer server(json("{" + standalone_hello() + "}"));
  const ConnectionString connection("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/");
  {
    MongoPool pool(tuned_uri(connection, kLimitOfCall), connection);
    const MongoSettings settings{"config", 3600ms, {}, 0ms};
    // Nothing is sent by a call whose time is over.
    CHECK(failure_of([&] { MongoCall(pool, settings, {"test", ""}); }) == Errc::not_applied);
  }
  CHECK(failure_of([&] { open_mongo_store(connection, {.call_limit = kLimitOfCall}); }) ==
        std::nullopt);
}

TEST_CASE("a bell is listened to for longer than a call may take", "[mongo][bell][R19]") {
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with(
      [](const Bson&) { return json(R"({"ok": 1, "cursor": {"id": 0, "firstBatch": []}})"); });
  const ConnectionString connection("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/");
  MongoPool pool(tuned_uri(connection, kLimitOfCall), connection);
  const MongoSettings settings{"config", 3600ms, {}, kLimitOfCall};
  const MongoCall call(pool, settings, {"test", ""});
  const AnswersUntil over(SteadyTime::min());
  int batches = 0;
  const auto take = [&](const std::vector<Document>&) { return ++batches != 0; };
  CHECK(failure_of([&] {
          CHECK(call.follow(doc({{"find", "lockbells"}, {"tailable", true}}), 1ms, take));
        }) == std::nullopt);
  CHECK(batches == 1);
}

TEST_CASE("a connection may be tried for as long as its call lasts, and for a moment after it",
          "[mongo][R12]") {
  CHECK(time_to_connect() == INT32_MAX);  // As at the opening, where no call has begun.
  {
    const AnswersUntil end(host_clock()->steady_now() + 1h);
    CHECK(time_to_connect() > 1000 * 60 * 59);
    CHECK(time_to_connect() <= 1000 * 60 * 60);
  }
  const AnswersUntil over(SteadyTime::min());
  CHECK(time_to_connect() == 100);
}

TEST_CASE("the limit of a call counts again after a shorter one within it", "[mongo][R12]") {
  const SteadyTime whole = host_clock()->steady_now() + 1h;
  const AnswersUntil call(whole);
  {
    const AnswersUntil half(whole - 30min);
    CHECK(end_of_answers() == whole - 30min);
  }
  CHECK(end_of_answers() == whole);
}
