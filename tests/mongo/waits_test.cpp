// A look at those who wait, in MongoDB (R22), answered by a server that tests script.
#include <catch2/catch.hpp>

#include "distlock/line.h"
#include "mongo/recorded.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

// Taken by that process, with "a" in line.
std::string lock_of(const std::string& process) {
  return R"({"_id": "jobs", "state": 1, "process": ")" + process + R"(", "who": "w", "why": "",)" +
         R"("when": {"$date": {"$numberLong": "7"}}, "ts": {"$oid": "010000000000000000000000"},)" +
         R"("line": {"020000000000000000000000": {"process": "a", "who": "a:1",)" +
         R"("since": {"$date": {"$numberLong": "5"}}}}})";
}

// Each find gets the next of these documents.
struct Scripted : Recorded {
  explicit Scripted(std::vector<std::string> found) : Recorded(false) {
    server.forget_commands();
    server.answer_with([found = std::move(found), next = 0U](const Bson& command) mutable {
      if (name_of(command) != "find")
        return json(R"({"ok": 1, "localTime": {"$date": {"$numberLong": "9"}}})");
      return json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "0"}, "firstBatch": [)" +
                  found.at(next++) + "]}}");
    });
  }
  Listing waits() { return store->line()->list_waits({"named"}); }
};

}  // namespace

TEST_CASE("a lock that changes during a look at those who wait is as it was read last",
          "[mongo][R22]") {
  Scripted server({lock_of("before"), lock_of("a"),
                   R"({"_id": "a", "ping": {"$date": {"$numberLong": "6"}}, "clock": "c"})"});
  const Listing waits = server.waits();
  REQUIRE(waits.locks.size() == 1);
  REQUIRE(waits.locks.front().record);
  CHECK(waits.locks.front().record->process == "a");
  REQUIRE(waits.pings.size() == 1);
  CHECK(waits.now.time == StoreTime{std::chrono::milliseconds{9}});
}

TEST_CASE("a look at those who wait asks for no more than them, and for the time last",
          "[mongo][R4][R20][R22]") {
  Scripted server({lock_of("b"), "", ""});
  static_cast<void>(server.waits());
  const auto sent = server.server.commands();
  REQUIRE(sent.size() == 4);
  CHECK(find(sent[0].get(), "filter.line.$exists"));
  CHECK(text_at(sent[1], "filter.$or.0.process.$in.0") == "a");
  CHECK(find(sent[1].get(), "filter.$or.0.when.$gte"));
  CHECK(text_at(sent[1], "filter.$or.1._id.$in.0") == "named");
  CHECK(text_at(sent[2], "find") == "lockpings");
  CHECK(text_at(sent[2], "filter._id.$in.0") == "a");
  CHECK(name_of(sent[3]) == "isMaster");
}

TEST_CASE("where nobody waits a look at those who wait asks for no pings", "[mongo][R20][R22]") {
  Scripted server({"", ""});
  static_cast<void>(server.waits());
  CHECK(server.server.commands().size() == 3);
}
