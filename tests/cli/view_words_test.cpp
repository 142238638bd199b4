// Single words of a list and of JSON, which tell more than any other part of them.
#include <catch2/catch.hpp>
#include <sstream>

#include "cli/scene.h"
#include "cli/view_text.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

/// A list without -v of one held lock of which a takeover stands like that.
std::string brief_list_of(const Takeover& takeover) {
  View view;
  view.now = StoreNow{StoreTime{1h}, "memory"};
  LockView lock;
  lock.name = "jobs";
  lock.record.emplace().name = "jobs";
  lock.record->state = LockState::taken;
  lock.takeover = takeover;
  view.locks.push_back(lock);
  std::ostringstream out;
  print_locks(out, view, "no locks", {});
  return out.str();
}

}  // namespace

TEST_CASE("a list without -v has each takeover in few letters", "[cli][view][R6]") {
  const auto [how, text] = GENERATE(table<How, std::string>({
      {How::not_needed, "-"},
      {How::now, "now"},
      {How::later, "in 56s"},
      {How::by_watching, "watch 1m"},
      {How::never, "never"},
      {How::clock_skew, "no: skew"},
      {How::malformed_ping, "no: ping"},
  }));
  CHECK_THAT(brief_list_of({.how = how, .window = 60s, .in = 56s}),
             Catch::Contains("  " + text + std::string(8 - text.size() + 2, ' ') + '\n'));
}

TEST_CASE("a single lock that is held says for how long", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "p");
  const std::string since = as_json(scene.one("jobs"))["locks"][0]["when"];
  std::ostringstream out;
  print_lock(out, scene.one("jobs"), {});
  CHECK_THAT(out.str(), Catch::Contains("\n  since      " + since + " (1m 1s)\n"));
}

TEST_CASE("with -v each cell of the pings stands below its heading", "[cli][view][R4]") {
  Scene scene;
  scene.ping("p", 5s);
  const std::string at = as_json(scene.all())["pings"][0]["ping"];
  CHECK_THAT(listed(scene.all()),
             Catch::Contains("PROCESS  PING  HOLDS  AT  ") &&
                 Catch::Contains("\np        5s    0      " + at + "  memory\n"));
}

TEST_CASE("JSON has the holder, the thread and the purpose of a hold apart", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "p");
  const auto lock = as_json(scene.all())["locks"][0];
  CHECK(lock["process"] == "p");
  CHECK(lock["who"] == "p:main:1");
  CHECK(lock["why"] == "testing");
}

TEST_CASE("JSON says when a process pinged, and by which clock", "[cli][view][R4]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", 500ms);
  const std::int64_t when = (scene.now() - 500ms).time_since_epoch().count();
  const auto json = as_json(scene.all());
  for (const auto& ping : {json["pings"][0], json["locks"][0]["ping"]}) {
    CHECK(ping["ping_ms"] == when);
    CHECK(ping["clock"] == "memory");
  }
}

TEST_CASE("JSON has the state of a member in one word", "[cli][view][M8]") {
  const auto [condition, word] = GENERATE(table<Condition, std::string>({
      {Condition::counts, "counts"},
      {Condition::away, "away"},
      {Condition::empty, "empty"},
      {Condition::kept_out, "kept_out"},
      {Condition::strange, "strange"},
  }));
  View view;
  view.members.resize(1);
  view.members.front().condition = condition;
  CHECK(as_json(view)["members"][0]["state"] == word);
}
