// The text of a single lock, and the columns that tables leave out on a narrow terminal.
#include <catch2/catch.hpp>
#include <sstream>

#include "cli/scene.h"
#include "cli/view_text.h"
#include "text.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

namespace {

std::string shown_alone(const View& view, bool verbose = false) {
  std::ostringstream out;
  print_lock(out, view, {.verbose = verbose});
  return out.str();
}

/// A list without pings on a terminal of that width.
std::string shown_within(std::size_t width, const View& view) {
  std::ostringstream out;
  print_locks(out, view, "no locks", {.width = width});
  return out.str();
}

bool fits(std::size_t width, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (characters_of(line).size() > width) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("with -v a single lock shows who holds it as the document says it", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::taken, ":thread3/pid4711/ann:99");
  CHECK_THAT(shown_alone(scene.one("jobs"), true),
             Catch::Contains("who        db7:17:42:thread3/pid4711/ann:99"));
  CHECK_THAT(shown_alone(scene.one("jobs")), !Catch::Contains("thread3"));
}

TEST_CASE("with -v each cell of a list stands below its heading", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::taken, ":thread3/pid4711/ann:99");
  const std::string since = as_json(scene.all())["locks"][0]["when"];
  CHECK_THAT(listed(scene.all()),
             Catch::Contains("  FENCE  PROCESS    WHY\njobs  taken  ann@db7  ") &&
                 Catch::Contains(since + "  7      db7:17:42  testing\n"));
}

TEST_CASE("a single lock that is malformed is shown with its problem", "[cli][view][R14]") {
  Scene scene;
  scene.tables().put_lock({{"_id", std::string("odd")}, {"state", std::string("1")}});
  const View view = scene.one("odd");
  REQUIRE_FALSE(view.locks.front().problem.empty());
  CHECK_THAT(shown_alone(view),
             Catch::StartsWith("odd: malformed\n") && Catch::Contains(view.locks.front().problem));
}

TEST_CASE("a terminal that is too narrow for MEMBERS does without that column, too",
          "[cli][view][M8]") {
  Scene scene;
  scene.hold("nightly-backup-of-the-warehouse", "warehouse-db-07.example.com:1795341030:243258234",
             2000, LockState::taken, ":thread1/pid4194303/backup-operator:77");
  View view = scene.all();
  view.members.resize(3);
  const std::string text = shown_within(50, view);
  CHECK(fits(50, text));
  CHECK_THAT(text, Catch::Contains("without PING PID FOR MEMBERS;"));
}

TEST_CASE("the table of those who wait fits a narrow terminal, and says what it leaves out",
          "[cli][view][R17]") {
  Scene scene;
  scene.hold("nightly-backup", "p");
  Document lock = *scene.tables().raw_lock("nightly-backup");
  const std::string waiter = "warehouse-db-07:1795341030:243258234";
  lock.emplace_back(
      "line",
      std::vector<Waiter>{
          {Token{{1}}, waiter, waiter + ":thread1/pid4194303/operator:3", scene.now(), {}}});
  scene.tables().put_lock(lock);
  const std::string text = shown_within(29, scene.all());
  CAPTURE(text);
  CHECK(fits(29, text.substr(text.rfind("LOCK"), text.rfind("without") - text.rfind("LOCK"))));
  CHECK_THAT(text, Catch::Contains("without PID FOR;"));
}

TEST_CASE("the ping of a lock is as old as its member's clock says", "[cli][view][R4][M4]") {
  View view;
  view.now = StoreNow{StoreTime{1h}, "of a"};
  LockView lock;
  lock.name = "jobs";
  lock.record.emplace().name = "jobs";
  lock.record->state = LockState::taken;
  lock.ping = PingRecord{.process = "p", .ping = view.now->time - 5s, .clock = "of b"};
  lock.now = StoreNow{view.now->time + 2s, "of b"};
  view.locks.push_back(lock);
  CHECK_THAT(shown_alone(view), Catch::Contains("  ping       7s ago\n"));
  CHECK_THAT(shown_within(0, view), Catch::Contains("  7s "));
}

TEST_CASE("in the table of pings each is as old as its member's clock says",
          "[cli][view][R4][M4]") {
  View view;
  view.now = StoreNow{StoreTime{1h}, "of a"};
  const PingRecord ping{.process = "p", .ping = view.now->time - 5s, .clock = "of b"};
  view.pings.push_back(
      {.process = "p", .record = ping, .now = StoreNow{view.now->time + 2s, "of b"}});
  std::ostringstream out;
  print_list(out, view, {});
  CHECK_THAT(out.str(), Catch::Contains("PROCESS  PING  HOLDS\np        7s    0\n"));
}

TEST_CASE("the purpose of a hold cannot steer the terminal", "[cli][view][R14]") {
  Scene scene;
  scene.hold("jobs", "p", 2000, LockState::taken, ":thread\033[2J:1");
  Document lock = *scene.tables().raw_lock("jobs");
  std::erase_if(lock, [](const auto& field) { return field.first == "why"; });
  lock.emplace_back("why", std::string("to \033[2J clear"));
  scene.tables().put_lock(lock);
  const View view = scene.one("jobs");
  for (const std::string& text :
       {shown_alone(view), shown_alone(view, true), shown_within(0, view), listed(view)}) {
    CHECK_THAT(text, Catch::Contains("to \\x1b[2J clear") && !Catch::Contains("\033"));
  }
}

TEST_CASE("a single lock that is free shows who stands in line for it", "[cli][view][R17]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::free);
  Document lock = *scene.tables().raw_lock("jobs");
  const Waiter waiter{Token{{2}}, "db9:19:44", "db9:19:44:conn5:7", scene.now() - 3s, {}};
  lock.emplace_back("line", std::vector<Waiter>{waiter});
  scene.tables().put_lock(lock);
  CHECK_THAT(shown_alone(scene.one("jobs")),
             Catch::StartsWith("jobs: free\n") && Catch::Contains("waiting    1st: db9, for 3s\n"));
}
