#include "cli/view_members.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/exit_status.h"
#include "cli/readmit.h"
#include "cli/scene.h"
#include "cli/status.h"
#include "cli/watch.h"
#include "distlock/error.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// How status and list show the members of a mirrored store.

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;

/// Looks at a mirrored store whose third member was away when "jobs" was taken.
class MirrorLooker {
 public:
  MirrorLooker() {
    holder.pinger->ping_round();
    holder.set_away(2, true);
    REQUIRE(jobs->lock_try("x"));
  }

  OpenedStore opened() { return {*observer.store, *fleet.clock, connection}; }
  Streams streams() { return {in, out, err}; }
  std::string shown() { return std::exchange(out, std::ostringstream()).str(); }
  std::string listed(const ListArguments& arguments) {
    CHECK(list(arguments, opened(), streams()) == kSuccess);
    return shown();
  }
  std::string status_of(const StatusArguments& arguments) {
    CHECK(status(arguments, opened(), streams()) == kSuccess);
    return shown();
  }

  MirrorFleet fleet;
  MirrorProcess holder = fleet.process("holder");
  MirrorProcess observer = fleet.process("observer");
  std::unique_ptr<DistributedLock> jobs = holder.lock("jobs");
  ConnectionString connection{"mirrored+sqlite:a,b,c"};
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
};

CommonArguments verbose() { return {.verbosity = Verbosity::verbose}; }

}  // namespace

TEST_CASE("a list of a mirrored store says on which members each lock is", "[cli][view][M8]") {
  MirrorLooker looker;
  CHECK_THAT(looker.listed({}), Catch::Contains("MEMBERS") && Catch::Contains("1,2"));
  CHECK_THAT(looker.status_of({.lock = "jobs"}), Catch::Contains("members    1,2\n"));

  const auto json = nlohmann::json::parse(looker.listed({.format = Format::json}));
  CHECK(json["locks"][0]["members"] == nlohmann::json({1, 2}));
  REQUIRE(json["members"].size() == 3);
  CHECK(json["members"][0]["state"] == "counts");
  CHECK(json["members"][2]["lacks"] == 1);
  CHECK(json["members"][2]["clock_ahead_ms"] == 0);
  CHECK(json["members"][2]["problem"].is_null());
}

TEST_CASE("with -v the members of a mirrored store are shown, and what is wrong with each",
          "[cli][view][M6][M8]") {
  MirrorLooker looker;
  const std::string plain = looker.status_of({});
  CHECK_THAT(plain, !Catch::Contains("MEMBER  STATE") && !Catch::Contains("does not count"));
  CHECK_THAT(looker.status_of({.common = verbose()}),
             Catch::Contains("MEMBER  STATE") && Catch::Contains("lacks 1 hold of a majority"));
  looker.observer.set_away(2, true);
  CHECK_THAT(looker.listed({}), Catch::EndsWith("\nmember 3 does not count: away; -v says more\n"));
  const std::string away = looker.status_of({.common = verbose(), .lock = "jobs"});
  CHECK_THAT(away, Catch::Contains("away") && Catch::Contains("the member is away"));
  looker.observer.set_away(2, false);
  looker.fleet.empty(2);
  CHECK_THAT(looker.listed({.common = verbose()}), Catch::Contains("3       empty"));
}

TEST_CASE("a member with a document that is no good is odd, and not ok", "[cli][view][M3][M8]") {
  MirrorLooker looker;
  looker.fleet.stores[1].tables.put_lock({{"_id", std::string("old")},
                                          {"state", std::int32_t{0}},
                                          {"who", std::string()},
                                          {"fence", std::int64_t{1} << 62}});
  CHECK_THAT(looker.listed({.common = verbose()}),
             Catch::Contains("2       odd") && Catch::Contains("has a fence there"));
  const auto json = nlohmann::json::parse(looker.listed({.format = Format::json}));
  CHECK(json["members"][1]["state"] == "counts");
  CHECK(json["members"][1]["problem"].is_string());
  looker.fleet.empty(2);
  looker.fleet.put_taken(2);
  CHECK_THAT(looker.listed({.common = verbose()}),
             Catch::Contains("3       empty") && Catch::Contains("has locks of its own"));
}

TEST_CASE("a member that is kept out is shown, and for how long still", "[cli][view][M6]") {
  MirrorLooker looker;
  looker.holder.set_away(2, false);
  looker.fleet.empty(1);
  for (int i = 0; i < 3; ++i) {
    looker.fleet.clock->advance(30s);
    looker.holder.pinger->ping_round();
  }
  CHECK_THAT(looker.listed({.common = verbose()}),
             Catch::Contains("2       kept out") && Catch::Contains("counts again in 1h"));
  const std::string line = "\nmember 2 does not count: kept out; -v says more\n";
  CHECK_THAT(looker.status_of({}), Catch::EndsWith(line));
  CHECK_THAT(looker.status_of({.lock = "jobs"}), Catch::EndsWith(line));
  CHECK_THAT(looker.listed({}), Catch::EndsWith(line));
  const auto json = nlohmann::json::parse(looker.listed({.format = Format::json}));
  CHECK(json["members"][1]["state"] == "kept_out");
  CHECK(json["members"][1]["kept_out_for_ms"] == 3'600'000);
  CHECK(json["members"][0]["kept_out_for_ms"].is_null());
  looker.fleet.clock->advance(2h);
  CHECK_THAT(looker.status_of({.common = verbose(), .lock = "jobs"}),
             Catch::Contains("2       kept out") && Catch::Contains("says what keeps it out"));
}

TEST_CASE("a member that a document of another one keeps out is shown with that, and no time",
          "[cli][view][M6]") {
  MirrorLooker looker;
  looker.holder.set_away(2, false);
  looker.fleet.empty(1);
  looker.fleet.rounds({&looker.holder}, 3 * 30s);
  looker.fleet.stores[2].tables.put_lock({{"_id", std::string("x")}, {"state", std::string("?")}});
  CHECK_THAT(looker.status_of({.common = verbose(), .lock = "jobs"}),
             Catch::Contains("2       kept out") &&
                 Catch::Contains("lock \"x\" on member 3 is malformed") &&
                 Catch::Contains("distlock readmit 2") && !Catch::Contains("counts again in"));
  const auto json =
      nlohmann::json::parse(looker.status_of({.lock = "jobs", .format = Format::json}));
  CHECK(json["members"][1]["state"] == "kept_out");
  CHECK(json["members"][1]["kept_out_for_ms"].is_null());
  CHECK(json["members"][1]["problem"].is_string());
}

TEST_CASE("readmit takes an emptied member back", "[cli][M6]") {
  MirrorLooker looker;
  looker.fleet.empty(2);
  CHECK(readmit({.member = 3, .confirmed = true}, looker.opened(), looker.streams()) == kSuccess);
  CHECK_THAT(looker.err.str(), Catch::Contains("member 3 is back"));
  CHECK(looker.observer.condition(2) == Condition::counts);
  CHECK(readmit({.member = 3, .confirmed = true}, looker.opened(), looker.streams()) == kSuccess);
  CHECK_THAT(looker.err.str(), Catch::Contains("member 3 counts already"));
  CHECK(thrown_by([&] {
          return readmit({.member = 4, .confirmed = true}, looker.opened(), looker.streams());
        }) == Errc::invalid_argument);
}

TEST_CASE("readmit asks nothing of a member that counts, or that there is not", "[cli][M6]") {
  MirrorLooker looker;
  CHECK(readmit({.member = 1}, looker.opened(), looker.streams()) == kSuccess);
  CHECK(looker.err.str() == "distlock: member 1 counts already\n");
  looker.err.str("");
  CHECK(thrown_by([&] { return readmit({.member = 4}, looker.opened(), looker.streams()); }) ==
        Errc::invalid_argument);
  CHECK(looker.err.str().empty());
}

TEST_CASE("readmit -q shows the members only if it asks", "[cli][M6]") {
  MirrorLooker looker;
  looker.fleet.empty(2);
  ReadmitArguments arguments{.member = 3};
  arguments.common.verbosity = Verbosity::quiet;
  CHECK(readmit(arguments, looker.opened(), looker.streams()) == kUsage);
  CHECK_THAT(looker.err.str(), Catch::StartsWith("distlock: standard input"));
}

TEST_CASE("readmit -q says nothing of a member that counts", "[cli][M6]") {
  MirrorLooker looker;
  const CommonArguments quiet{.verbosity = Verbosity::quiet};
  CHECK(readmit({.common = quiet, .member = 1}, looker.opened(), looker.streams()) == kSuccess);
  CHECK(looker.err.str().empty());
}

TEST_CASE("readmit asks, and refuses where nobody can answer", "[cli][M6]") {
  MirrorLooker looker;
  looker.fleet.empty(2);
  const ReadmitArguments arguments{.common = {}, .member = 3, .confirmed = false};
  CHECK(readmit(arguments, looker.opened(), looker.streams()) == kUsage);
  Streams streams{looker.in, looker.out, looker.err, true};
  looker.in.str("n\n");
  CHECK(readmit(arguments, looker.opened(), streams) == kBusy);
  CHECK(looker.observer.condition(2) == Condition::empty);
  looker.in.str("y\n");
  CHECK(readmit(arguments, looker.opened(), streams) == kSuccess);
  CHECK(looker.observer.condition(2) == Condition::counts);

  cli::testing::Scene scene;
  CHECK(thrown_by([&] {
          const OpenedStore opened{scene.store(), *looker.fleet.clock, looker.connection};
          return readmit({.confirmed = true}, opened, looker.streams());
        }) == Errc::invalid_argument);
}

TEST_CASE("where too few members answer, -v still shows which", "[cli][view][M2]") {
  MirrorLooker looker;
  static_cast<void>(looker.listed({}));
  looker.observer.set_away(0, true);
  looker.observer.set_away(1, true);
  const StatusArguments arguments{.common = verbose()};
  CHECK(thrown_by([&] { return status(arguments, looker.opened(), looker.streams()); }) ==
        Errc::not_applied);
  CHECK_THAT(looker.shown(), Catch::Contains("1       away") && Catch::Contains("2       away"));
  const ListArguments as_json{.common = verbose(), .format = Format::json};
  CHECK(thrown_by([&] { return list(as_json, looker.opened(), looker.streams()); }) ==
        Errc::not_applied);
  CHECK(looker.shown().empty());
}

TEST_CASE("a watch with -v shows the members beside the error that too few answer",
          "[cli][view][M2]") {
  MirrorLooker looker;
  static_cast<void>(looker.listed({}));
  looker.observer.set_away(0, true);
  looker.observer.set_away(1, true);
  std::stop_source stop;
  const auto open = [&]() -> std::shared_ptr<Store> {
    stop.request_stop();
    return looker.observer.store;
  };
  const WatchedStore watched{open, *looker.fleet.clock, looker.connection};
  CHECK(watch_list({.common = verbose()}, watched, looker.streams(), stop.get_token()) == kSuccess);
  CHECK_THAT(looker.shown(), Catch::Contains("1       away") && Catch::Contains("distlock: "));
}

TEST_CASE("a store that is not mirrored shows no members", "[cli][view]") {
  cli::testing::Scene scene;
  scene.hold("jobs", "p");
  CHECK_THAT(cli::testing::listed(scene.all()), !Catch::Contains("MEMBER"));
  CHECK_FALSE(cli::testing::as_json(scene.all()).contains("members"));
  CHECK_FALSE(cli::testing::as_json(scene.all())["locks"][0].contains("members"));
}

TEST_CASE("a member's state is one word a fault", "[cli][view][M8]") {
  const auto words = [](Condition condition, std::int64_t lacks, std::chrono::milliseconds ahead) {
    MemberState member;
    member.condition = condition;
    member.lacks = lacks;
    member.ahead = ahead;
    return state_of(member);
  };
  CHECK(words(Condition::counts, 0, 1000ms) == "ok");
  CHECK(words(Condition::counts, 0, -1001ms) == "skewed");
  CHECK(words(Condition::counts, 2, 1001ms) == "behind,skewed");
  CHECK(words(Condition::strange, 0, 0ms) == "strange");
  CHECK(words(Condition::empty, 0, 2s) == "empty,skewed");
}

TEST_CASE("the table of members says how far each clock is off, and why one is away",
          "[cli][view][M8]") {
  std::vector<MemberState> members(3);
  members[0].condition = Condition::counts;
  members[0].ahead = -90s;
  members[0].lacks = 2;
  members[1].failure = Error(Errc::not_applied, "no \x1b route");
  members[2].condition = Condition::strange;
  members[2].ahead = 5ms;
  members[2].description = "sqlite:c";
  std::ostringstream out;
  print_members(out, members, false);
  CHECK(out.str() ==
        "MEMBER  STATE          CLOCK    STORE     NOTE\n"
        "1       behind,skewed  -1m 30s            lacks 2 holds of a majority\n"
        "2       away           -                  no \\x1b route\n"
        "3       strange        +5ms     sqlite:c  it is of another set, or named at another "
        "place\n");
}

TEST_CASE("the note on a member that lacks holds says what else is wrong with it",
          "[cli][view][M8]") {
  std::vector<MemberState> members(1);
  members[0].condition = Condition::counts;
  members[0].lacks = 1;
  members[0].problem = "lock jobs is malformed";
  std::ostringstream out;
  print_members(out, members, false);
  CHECK_THAT(out.str(), Catch::EndsWith("lacks 1 hold of a majority; lock jobs is malformed\n"));
}
