#include "cli/view_text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <sstream>

#include "cli/scene.h"
#include "cli/view_cells.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

namespace {

/// In letters.
std::size_t widest_line(const std::string& text) {
  std::ptrdiff_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, std::count_if(line.begin(), line.end(), [](char byte) {
                        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
                      }));
  }
  return static_cast<std::size_t>(widest);
}

}  // namespace

TEST_CASE("a list fits a terminal of 80 columns", "[cli][view]") {
  Scene scene;
  scene.hold("nightly-backup-of-the-warehouse", "warehouse-db-07.example.com:1795341030:243258234",
             2000, LockState::taken, ":thread1/pid4194303/backup-operator:77");
  scene.hold("jobs", "p");
  scene.ping("p", 500ms);
  for (const std::size_t width : {80, 120}) {
    std::ostringstream out;
    print_list(out, scene.all(), {.width = width});
    CAPTURE(out.str());
    CHECK(widest_line(out.str()) <= width);
    CHECK_THAT(out.str(), Catch::Contains("4194303") && Catch::Contains("500ms  in 1s"));
  }
  CHECK_THAT(listed(scene.all()), Catch::Contains("1795341030:243258234"));
}

TEST_CASE("a terminal that is too narrow for all columns is told which are left out",
          "[cli][view]") {
  Scene scene;
  scene.hold("nightly-backup-of-the-warehouse", "warehouse-db-07.example.com:1795341030:243258234",
             2000, LockState::taken, ":thread1/pid4194303/backup-operator:77");
  for (const std::size_t width : {60, 50, 40}) {
    std::ostringstream out;
    print_locks(out, scene.all(), "no locks", {.width = width});
    CAPTURE(out.str());
    CHECK(widest_line(out.str()) <= width);
    CHECK_THAT(out.str(), Catch::Contains("LOCK") && Catch::Contains("TAKEOVER") &&
                              Catch::Contains("without PING") && Catch::Contains("; -v has all"));
  }
}

TEST_CASE("with -v a list has every column that it has without", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::taken, ":thread3/pid4711/ann:99");
  scene.tables().put_lock({{"_id", std::string("later")}});
  const auto headings = [&](bool verbose) {
    std::ostringstream out;
    print_list(out, scene.all(), {.verbose = verbose});
    std::istringstream words(out.str().substr(0, out.str().find('\n')));
    return std::set<std::string>{std::istream_iterator<std::string>(words), {}};
  };
  const auto brief = headings(false);
  const auto whole = headings(true);
  CHECK(std::includes(whole.begin(), whole.end(), brief.begin(), brief.end()));
  CHECK(whole.size() > brief.size());
  CHECK_THAT(listed(scene.all()),
             Catch::Contains("ann@db7  4711  1m 1s") && Catch::Contains("db7:17:42"));
}

TEST_CASE("a hold shows its process and user, as far as it says them", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::taken, ":thread3/pid4711/ann:99");
  const auto json = as_json(scene.all())["locks"][0];
  CHECK(json["host"] == "db7");
  CHECK(json["pid"] == 4711);
  CHECK(json["user"] == "ann");
  std::ostringstream out;
  print_lock(out, scene.one("jobs"), {});
  CHECK_THAT(out.str(), Catch::Contains("ann@db7, process 4711"));

  for (const char* thread :
       {":conn5:99", ":thread1:99", ":thread1/pid/ann:9", ":t/pid1x/ann:9", ""}) {
    scene.hold("jobs", "mongos:27017:17:42", 2000, LockState::taken, thread);
    const auto unsaid = as_json(scene.all())["locks"][0];
    CHECK(unsaid["host"] == "mongos");
    CHECK((unsaid["pid"].is_null() && unsaid["user"].is_null()));
  }
}

TEST_CASE("those who wait are shown in order, with how long they wait", "[cli][view][R17]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::taken, ":thread3/pid4711/ann:99");
  CHECK_THAT(listed(scene.all()), !Catch::Contains("WAITER"));
  CHECK(as_json(scene.all())["locks"][0]["line"].empty());

  Document lock = *scene.tables().raw_lock("jobs");
  const Waiter first{Token{{1}}, "db8:18:43", "db8:18:43:thread1/pid12/bob:7", scene.now() - 65s,
                     scene.now() - 2s};
  const Waiter second{Token{{2}}, "db9:19:44", "db9:19:44:conn5:7", scene.now() - 3s, {}};
  lock.emplace_back("line", std::vector<Waiter>{first, second});
  scene.tables().put_lock(lock);

  std::ostringstream list;
  print_list(list, scene.all(), {});
  CHECK_THAT(list.str(), Catch::Contains("jobs  away   bob@db8  12   1m 5s\n") &&
                             Catch::Contains("jobs  2nd    db9      -    3s\n"));
  std::ostringstream one;
  print_lock(one, scene.one("jobs"), {});
  CHECK_THAT(
      one.str(),
      Catch::Contains("waiting    1st: bob@db8, process 12, for 1m 5s, passed over 2s ago\n") &&
          Catch::Contains("2nd: db9, for 3s\n"));
  const auto json = as_json(scene.all())["locks"][0]["line"];
  REQUIRE(json.size() == 2);
  CHECK(json[0]["pid"] == 12);
  CHECK(json[0]["waiting_ms"] == 65000);
  CHECK(json[0]["ticket"] == to_hex(first.ticket));
  CHECK_FALSE(json[0]["passed_over"].is_null());
  CHECK(json[1]["host"] == "db9");
  CHECK(json[1]["passed_over"].is_null());
}

TEST_CASE("a place in line is an ordinal number", "[cli][view]") {
  CHECK(place_text(0) == "1st");
  CHECK(place_text(1) == "2nd");
  CHECK(place_text(2) == "3rd");
  CHECK(place_text(3) == "4th");
  CHECK(place_text(10) == "11th");
  CHECK(place_text(12) == "13th");
  CHECK(place_text(20) == "21st");
  CHECK(place_text(110) == "111th");
  CHECK(place_text(999) == "1000th");
}

TEST_CASE("waits that can never end are shown", "[cli][view][R22]") {
  Scene scene;
  scene.hold("x", "a", 2000, LockState::taken, ":thread1:9");
  CHECK_THAT(listed(scene.all()), !Catch::Contains("deadlock"));
  CHECK(as_json(scene.all())["deadlocks"].empty());
  const StoreTime now = scene.now();
  const Claim again{.process = "a",
                    .who = "a:thread1:8",
                    .why = "x",
                    .ts = Token{{7}},
                    .takeover_after = 2s,
                    .cutoff = {now + 1h, "memory"}};
  REQUIRE(scene.store().line()->stand("x", again).in_line);
  CHECK_THAT(listed(scene.all()),
             Catch::Contains("deadlock: a:thread1 waits for \"x\", held by a:thread1\n"));
  const auto cycle = as_json(scene.all())["deadlocks"][0];
  REQUIRE(cycle.size() == 1);
  CHECK(cycle[0]["lock"] == "x");
  CHECK(cycle[0]["waiter"] == "a:thread1:8");
  CHECK(cycle[0]["holder"] == "a:thread1:9");
  CHECK(cycle[0]["ticket"] == to_hex(again.ts));
}

TEST_CASE("waits that may never end, since a holder's command contains them, are shown",
          "[cli][view][R22]") {
  Scene scene;
  scene.hold("x", "a", 2000, LockState::taken, ":thread1:9");
  const Claim inner{.process = "b",
                    .who = "b:thread1:8" + deadlock::inside({kToken}),
                    .why = "x",
                    .ts = Token{{7}},
                    .takeover_after = 2s,
                    .cutoff = {scene.now() + 1h, "memory"}};
  REQUIRE(scene.store().line()->stand("x", inner).in_line);
  CHECK_THAT(listed(scene.all()),
             Catch::Contains("possible deadlock: b:thread1 waits for \"x\", held by a:thread1, "
                             "whose command contains b:thread1\n"));
  const auto json = as_json(scene.all());
  CHECK(json["deadlocks"].empty());
  REQUIRE(json["possible_deadlocks"].size() == 1);
  CHECK(json["possible_deadlocks"][0][0]["ticket"] == to_hex(inner.ts));
}

TEST_CASE("a free lock shows its last holder and needs no takeover", "[cli][view]") {
  Scene scene;
  scene.tables().put_lock({{"_id", std::string("jobs")},
                           {"state", std::int32_t{0}},
                           {"process", std::string("p")},
                           {"who", std::string("p:1:2")},
                           {"why", std::string("testing")},
                           {"when", scene.now()},
                           {"ts", kToken}});
  const View view = scene.all();
  CHECK(view.locks.front().takeover.how == How::not_needed);
  std::ostringstream out;
  print_list(out, view, {.in_colour = true});
  CHECK_THAT(out.str(), Catch::Contains("free") && Catch::Contains("\033[2mp\033[0m"));
}

TEST_CASE("a lock that nobody ever claimed is free", "[cli][view]") {
  Scene scene;
  const View view = scene.one("nightly");
  CHECK_FALSE(view.malformed());
  std::ostringstream out;
  print_lock(out, view, {});
  CHECK(out.str() == "nightly: free\n");
}

TEST_CASE("a malformed ping widens no column of the others, and is told uncut",
          "[cli][view][R14]") {
  Scene scene;
  scene.ping("p", 1s);
  scene.tables().put_ping({{"_id", std::string("q")}, {"ping", std::string("yesterday")}});
  std::ostringstream out;
  print_list(out, scene.all(), {.width = 80});
  CHECK_THAT(out.str(), Catch::Contains("PROCESS  PING  HOLDS\np        1s    0\n") &&
                            Catch::Contains("q  malformed  lockpings document \"q\"") &&
                            Catch::EndsWith("nothing was changed\n"));
}

TEST_CASE("malformed documents are listed with their problem", "[cli][view][R14]") {
  Scene scene;
  scene.tables().put_lock({{"_id", std::string("bad")}, {"state", std::int32_t{9}}});
  scene.hold("jobs", "p");
  scene.tables().put_ping({{"_id", std::string("p")}, {"ping", std::string("yesterday")}});

  const View view = scene.all();
  CHECK(view.malformed());
  CHECK_THAT(listed(view), Catch::Contains("malformed") && Catch::Contains("state"));
  CHECK_FALSE(as_json(view)["locks"][0]["problem"].get<std::string>().empty());
  CHECK_FALSE(as_json(view)["pings"][0]["problem"].get<std::string>().empty());
  CHECK(view.locks.back().takeover.how == How::malformed_ping);
  CHECK(scene.one("bad").malformed());
  std::ostringstream one;
  print_lock(one, scene.one("jobs"), {});
  CHECK_THAT(one.str(), Catch::Contains("takeover   no: malformed ping\n"));
}

TEST_CASE("a hold of MongoDB's own lock manager is said to be one", "[cli][view][R14]") {
  Scene scene;
  scene.hold("jobs", "p", {}, LockState::taken_by_mongodb);
  CHECK_THAT(listed(scene.all()), Catch::Contains("taken (MongoDB)"));
  CHECK(as_json(scene.all())["locks"][0]["state"] == "taken_by_mongodb");
}

TEST_CASE("absurd dates are shown, not stumbled over", "[cli][view]") {
  Scene scene;
  for (const StoreTime when : {StoreTime::min(), StoreTime::max()}) {
    scene.tables().put_lock({{"_id", std::string("jobs")},
                             {"state", std::int32_t{1}},
                             {"process", std::string("p")},
                             {"who", std::string("w")},
                             {"why", std::string()},
                             {"when", when},
                             {"ts", kToken},
                             {"takeover_after", std::int64_t{INT64_MAX}}});
    scene.tables().put_ping({{"_id", std::string("p")}, {"ping", when}});
    CHECK_FALSE(listed(scene.all()).empty());
    CHECK(as_json(scene.all())["locks"][0]["when_ms"] == when.time_since_epoch().count());
  }
}

TEST_CASE("names cannot steer the terminal", "[cli][view]") {
  Scene scene;
  scene.hold("a\033[2Jb", "p\nq\033[2J", 2000, LockState::taken, ":thread1/pid1/ann\033[2J:3");
  Document lock = *scene.tables().raw_lock("a\033[2Jb");
  const std::string waiter = "db\033[2J:1:2";
  const Waiter place{Token{{1}}, waiter, waiter + ":thread1/pid1/ann\033[2J:3", scene.now(), {}};
  lock.emplace_back("line", std::vector<Waiter>{place});
  scene.tables().put_lock(lock);
  CHECK_THAT(listed(scene.all()), !Catch::Contains("\033") && Catch::Contains("\\x1b[2Jb") &&
                                      Catch::Contains("db\\x1b[2J:1:2"));
  std::ostringstream one;
  print_lock(one, scene.one("a\033[2Jb"), {});
  CHECK_THAT(one.str(), !Catch::Contains("\033") && Catch::Contains("ann\\x1b[2J@p"));
}

TEST_CASE("the last holder of a free lock is not called its holder", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::free, ":thread3/pid4711/ann:99");
  std::ostringstream out;
  print_lock(out, scene.one("jobs"), {});
  CHECK_THAT(out.str(), Catch::StartsWith("jobs: free\n  last       ann@db7, process 4711\n") &&
                            !Catch::Contains("holder"));
  // Nor has it been held for a time.
  const std::string since = as_json(scene.one("jobs"))["locks"][0]["when"];
  CHECK_THAT(out.str(), Catch::Contains("\n  since      " + since + "\n"));
}
