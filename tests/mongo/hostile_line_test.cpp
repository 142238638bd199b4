// Lines that other programs left in a server (R14, R17).
#include <catch2/catch.hpp>

#include "distlock/line.h"
#include "mongo/attempts.h"
#include "mongo/server.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

const Token kWaiters = *token_from_hex("4d7f0000000000000000bb01");
const std::string kTicket = to_hex(kWaiters);
const std::string kLongAgo = R"({"$date": {"$numberLong": "1300000000000"}})";
const std::string kFirst = R"({"$date": {"$numberLong": "-9223372036854775808"}})";
const std::string kLast = R"({"$date": {"$numberLong": "9223372036854775807"}})";
const std::string kYear9999 = R"({"$date": {"$numberLong": "253402300799999"}})";

std::string place(const std::string& since = kLongAgo, const std::string& more = "") {
  return R"({"process": "db8:1:1", "who": "db8:1:1:2:0", "since": )" + since + more + "}";
}

std::string place_of(const std::string& process, const std::string& who) {
  return R"({"process": ")" + process + R"(", "who": ")" + who + R"(", "since": )" + kLongAgo + "}";
}

Bson lock_with(const std::string& line, int state, const std::string& freed_at = kLongAgo) {
  return json(R"({"_id": "jobs", "state": )" + std::to_string(state) +
              R"(, "process": "db9:1:1", "who": "db9:1:1:2:0", "why": "x", "when": )" + kLongAgo +
              R"(, "ts": {"$oid": "4d7f0000000000000000cc01"}, "freed_at": )" + freed_at +
              R"(, "line": )" + line + "}");
}

const Token kHolders = *token_from_hex("4d7f0000000000000000cc01");

}  // namespace

TEST_CASE("a malformed line in a server is refused, and left as it is, but its lock can be freed",
          "[mongo][line][R14]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const std::string line = GENERATE_COPY(values<std::string>(
      {"7", R"("x")", "[]", "[" + place() + "]", R"({"x": )" + place() + "}",
       "{\"" + std::string(24, 'A') + "\": " + place() + "}",
       "{\"" + kTicket + R"(\n": )" + place() + "}", "{\"" + kTicket + R"(": 7})",
       "{\"" + kTicket + R"(": {}})", "{\"" + kTicket + R"(": {"process": "p", "who": "w"}})",
       "{\"" + kTicket + R"(": {"process": 7, "who": "w", "since": )" + kLongAgo + "}}",
       "{\"" + kTicket + "\": " + place("7") + "}",
       "{\"" + kTicket + "\": " + place(kLongAgo, R"(, "passed": "no")") + "}",
       "{\"" + kTicket + "\": " + place_of(std::string(65'537, 'p'), "w") + "}",
       "{\"" + kTicket + "\": " + place_of("p", std::string(65'537, 'w')) + "}",
       "{\"" + kTicket + "\": " + place() + ", \"" + kTicket + "\": " + place() + "}"}));
  const int state = GENERATE(0, 1);
  INFO(line.substr(0, 200) << ", state " << state);
  server.put(kLocks, lock_with(line, state));
  const auto before = server.raw(kLocks, "jobs");
  std::string message;
  CHECK(failure_of([&] { store->inspect("jobs", Freshness::ordinary); }, &message) ==
        Errc::bad_record);
  CHECK_THAT(message, Catch::Contains("\"line\""));
  // It shows one place only, and mostly leaves it to the look to say what is wrong.
  Standing standing;
  const auto error =
      failure_of([&] { standing = store->line()->stand("jobs", our_claim(*store)); });
  CHECK(error.value_or(Errc::bad_record) == Errc::bad_record);
  CHECK_FALSE(standing.hold);
  CHECK_FALSE(standing.in_line);
  CHECK_FALSE(store->claim("jobs", FromFree{}, our_claim(*store)));
  CHECK(server.raw(kLocks, "jobs") == before);
  CHECK_THAT(store->list().locks.at(0).problem, Catch::Contains("\"line\""));
  if (state == 0) return;
  const Freed freed = store->line()->release_and_tell("jobs", kHolders, ReleaseRule::durable);
  CHECK(freed.result == ReleaseResult::freed);
  CHECK(freed.next.empty());
}

TEST_CASE("a waiter beside a malformed place gets the lock no more than others do",
          "[mongo][line][R14]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const std::string line = "{\"" + to_hex(kOurs) + "\": " + place() + ", \"" + kTicket + R"(": 7})";
  server.put(kLocks, lock_with(line, GENERATE(0, 1)));
  const auto before = server.raw(kLocks, "jobs");
  Standing standing;
  const auto error =
      failure_of([&] { standing = store->line()->stand("jobs", our_claim(*store)); });
  CHECK(error.value_or(Errc::bad_record) == Errc::bad_record);
  CHECK_FALSE(standing.hold);
  CHECK(server.raw(kLocks, "jobs") == before);
}

TEST_CASE("ten thousand places of nobody take nobody in, and pass the lock on all the same",
          "[mongo][line][R17]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  std::string line = "{";
  for (int i = 0; i < 10'000; ++i) {
    const std::string number = std::to_string(i);
    line +=
        (i == 0 ? "\"" : ", \"") + std::string(24 - number.size(), '0') + number + "\": " + place();
  }
  line += "}";
  server.put(kLocks, lock_with(line, 1));
  const Standing full = store->line()->stand("jobs", our_claim(*store));
  CHECK_FALSE(full.hold);
  CHECK_FALSE(full.in_line);
  server.put(kLocks, lock_with(line, 0));
  // It was freed so long ago that every place is open.
  const Standing standing = store->line()->stand("jobs", our_claim(*store));
  REQUIRE(standing.hold);
  CHECK(standing.hold->ts == kOurs);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->line.size() == 10'000);
}

TEST_CASE("dates of the year 9999 in a line hold nobody up, nor do the first and the last",
          "[mongo][line][R14][R17]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const std::string date = GENERATE(values({kYear9999, kFirst, kLast}));
  const std::string line = "{\"" + kTicket + "\": " + place(date, R"(, "passed": )" + date) + "}";
  server.put(kLocks, lock_with(line, 0, date));
  const Standing standing = store->line()->stand("jobs", our_claim(*store));
  REQUIRE(standing.hold);
  // So long passed over, by whatever clock, it stands no more.
  CHECK(store->inspect("jobs", Freshness::fresh).lock->line.empty());
}

TEST_CASE("an earlier version takes a lock past its line, and who waits gets it afterwards",
          "[mongo][line][R14][R17]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  // As that version writes: it leaves fields alone that it does not know.
  const auto change = [&](const std::string& from, const std::string& set) {
    const auto reply = server.run(json(R"({"findAndModify": "locks", "query": {"_id": "jobs", )" +
                                       from + R"(}, "update": {"$set": {)" + set + "}}}"));
    const auto updated = find(reply.get(), "lastErrorObject.updatedExisting");
    REQUIRE(updated);
    REQUIRE(bson_iter_as_bool(&*updated));
  };
  const std::string freed = R"("state": 0)";
  const std::string taken = R"("state": 1, "process": "db7:2:2", "who": "db7:2:2:3:0",
      "why": "old", "fence": {"$numberLong": "9"}, "ts": {"$oid": "4d7f0000000000000000cc02"})";
  server.put(kLocks, lock_with("{}", 1));
  REQUIRE(store->line()->stand("jobs", our_claim(*store)).in_line);
  change(R"("ts": {"$oid": "4d7f0000000000000000cc01"})", freed);
  change(freed, taken);
  const Standing passed_by = store->line()->stand("jobs", our_claim(*store));
  CHECK_FALSE(passed_by.hold);
  CHECK(passed_by.in_line);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->line.size() == 1);
  change(R"("ts": {"$oid": "4d7f0000000000000000cc02"})", freed);
  const Standing standing = store->line()->stand("jobs", our_claim(*store));
  REQUIRE(standing.hold);
  CHECK(standing.hold->fence == 10);
}

TEST_CASE("the longest texts of a place are a place", "[mongo][line][R14]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const std::string longest(65'536, 'x');
  server.put(kLocks, lock_with("{\"" + kTicket + "\": " + place_of(longest, longest) + "}", 1));
  CHECK(store->line()->stand("jobs", our_claim(*store)).in_line);
  CHECK(store->inspect("jobs", Freshness::ordinary).lock->line.size() == 2);
}

TEST_CASE("a wait for a malformed lock that names no hold and no thread is refused",
          "[mongo][line][R8][R14]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const std::string fields = GENERATE(values<std::string>(
      {R"("state": 1)", R"("state": "bad")", R"("state": 1, "who": 5)", R"("state": 1, "ts": 5)"}));
  server.put(kLocks, json(R"({"_id": "jobs", )" + fields + "}"));
  INFO(fields);
  CHECK(failure_of([&] { store->line()->stand("jobs", our_claim(*store)); }) == Errc::bad_record);
}
