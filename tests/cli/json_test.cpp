// JSON of pings, takeovers and members, field by field: programs read it.
#include <catch2/catch.hpp>

#include "cli/scene.h"
#include "cli/view_json.h"
#include "distlock/error.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

namespace {

LockView held_lock(const View& view) {
  LockView lock;
  lock.name = "jobs";
  lock.record.emplace().name = "jobs";
  lock.record->state = LockState::taken;
  lock.ping = PingRecord{.process = "p", .ping = view.now->time - 5s, .clock = "of b"};
  lock.now = StoreNow{view.now->time + 2s, "of b"};
  return lock;
}

}  // namespace

TEST_CASE("JSON has the state of each member of a mirrored store", "[cli][view][M8]") {
  View view;
  view.members.resize(3);
  view.members[0].condition = MemberState::Condition::counts;
  view.members[0].ahead = -1001ms;
  view.members[1].failure = Error(Errc::not_applied, "no route");
  view.members[2].condition = MemberState::Condition::strange;
  view.members[2].ahead = 1000ms;
  view.members[2].description = "sqlite:c";
  const auto members = as_json(view)["members"];
  CHECK(members[0]["member"] == 1);
  CHECK(members[0]["clock_ahead_ms"] == -1001);
  CHECK(members[0]["skewed"] == true);
  CHECK(members[1]["state"] == "away");
  CHECK(members[1]["problem"] == "no route");
  CHECK(members[1]["clock_ahead_ms"].is_null());
  CHECK(members[2]["state"] == "strange");
  CHECK(members[2]["store"] == "sqlite:c");
  CHECK(members[2]["skewed"] == false);
}

TEST_CASE("JSON compares a ping of a member with that member's time", "[cli][view][R4][M4]") {
  View view;
  view.now = StoreNow{StoreTime{1h}, "of a"};
  view.locks.push_back(held_lock(view));
  view.pings.push_back(
      {.process = "p", .record = view.locks.front().ping, .now = view.locks.front().now});
  view.pings.push_back({.process = "p", .record = view.locks.front().ping});
  const auto json = as_json(view);
  CHECK(json["locks"][0]["ping"]["age_ms"] == 7000);
  CHECK(json["pings"][0]["age_ms"] == 7000);
  CHECK(json["pings"][1]["age_ms"].is_null());  // By another clock than the store's.
}

TEST_CASE("JSON has how the pings of a process fare", "[cli][view]") {
  View view;
  view.now = StoreNow{StoreTime{1h}, "memory"};
  PingRecord ping{.process = "p", .ping = view.now->time};
  ping.health = PingHealth{.successes = 3, .failures = 2, .round_trip = 17ms, .late_by = 5ms};
  view.pings.push_back({.process = "p", .record = ping});
  const nlohmann::json expected{
      {"successes", 3}, {"failures", 2}, {"round_trip_ms", 17}, {"late_by_ms", 5}};
  CHECK(as_json(view)["pings"][0]["health"] == expected);
}

TEST_CASE("JSON says of a free lock no time that it is held for, and no takeover",
          "[cli][view][R6]") {
  Scene scene;
  scene.hold("jobs", "p", 2000, LockState::free);
  const auto lock = as_json(scene.all())["locks"][0];
  CHECK(lock["state"] == "free");
  CHECK_FALSE(lock["when_ms"].is_null());
  CHECK(lock["held_ms"].is_null());
  CHECK(lock["takeover"].is_null());
}

TEST_CASE("JSON has no window of a takeover that a malformed ping lets nobody judge",
          "[cli][view][R14]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.tables().put_ping({{"_id", std::string("p")}, {"ping", std::string("yesterday")}});
  const auto takeover = as_json(scene.all())["locks"][0]["takeover"];
  CHECK(takeover["how"] == "malformed_ping");
  CHECK(takeover["window_ms"].is_null());
}

TEST_CASE("JSON has how a takeover stands in one word", "[cli][view][R6]") {
  const auto [how, word] = GENERATE(table<How, std::string>({
      {How::now, "now"},
      {How::later, "later"},
      {How::by_watching, "by_watching"},
      {How::never, "never"},
      {How::clock_skew, "clock_skew"},
      {How::malformed_ping, "malformed_ping"},
  }));
  View view;
  view.now = StoreNow{StoreTime{1h}, "memory"};
  view.locks.push_back(held_lock(view));
  view.locks.front().takeover = {.how = how, .window = 60s, .in = 56s};
  const auto takeover = as_json(view)["locks"][0]["takeover"];
  CHECK(takeover["how"] == word);
  CHECK(takeover["window_ms"] == 60'000);
  CHECK(takeover["in_ms"].is_null() == (how != How::later));
}
