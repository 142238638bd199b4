#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "cli/break.h"
#include "cli/exit_status.h"
#include "cli/status.h"
#include "support/mirror_fleet.h"

// Holds that a minority of the members of a mirrored store carries, as status and list show them.

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Looks at a mirrored store, on which eve has "jobs" on the third member alone.
class LookerAtRest {
 public:
  explicit LookerAtRest(std::size_t members = 3) : fleet(members) {
    holder.pinger->ping_round();
    fleet.put_taken(2);
    fleet.clock->advance(20s);
  }

  std::string listed(const ListArguments& arguments = {}) {
    CHECK(list(arguments, opened(), streams()) == kSuccess);
    return std::exchange(out, std::ostringstream()).str();
  }
  std::string status_of(const StatusArguments& arguments, int expected = kSuccess) {
    CHECK(status(arguments, opened(), streams()) == expected);
    return std::exchange(out, std::ostringstream()).str();
  }
  /// With --yes, and --wait, which no hold that is left over needs.
  std::string broken(int expected) {
    BreakArguments arguments;
    arguments.lock = "jobs";
    arguments.confirmed = arguments.wait = true;
    CHECK(break_hold(arguments, opened(), streams()) == expected);
    return std::exchange(err, std::ostringstream()).str();
  }
  nlohmann::json left_over() {
    return nlohmann::json::parse(listed({.format = Format::json}))["left_over"];
  }

  MirrorFleet fleet;
  MirrorProcess holder = fleet.process("holder");
  MirrorProcess observer = fleet.process("observer");

 private:
  OpenedStore opened() { return {*observer.store, *fleet.clock, connection}; }
  Streams streams() { return {in, out, err}; }

  ConnectionString connection{"mirrored+sqlite:a,b,c"};
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
};

const std::string kLine = "jobs       3        eve     -    20s\n";

}  // namespace

TEST_CASE("a hold that one member alone carries is shown as left over there",
          "[cli][view][mirrored][M1][M8]") {
  LookerAtRest looker;
  SECTION("beside no document") {
    CHECK_THAT(looker.status_of({.lock = "jobs"}),
               Catch::StartsWith("jobs: free\n  left over  on 3, by eve, since ") &&
                   Catch::EndsWith(" (20s)\n"));
  }
  SECTION("beside a free lock") {
    const auto jobs = looker.holder.lock("jobs");
    REQUIRE(jobs->lock_try("x"));
    REQUIRE(jobs->unlock() == UnlockResult::released);
    CHECK_THAT(looker.status_of({.lock = "jobs"}),
               Catch::Contains("  members    1,2\n  left over  on 3, by eve, since "));
  }
  CHECK_THAT(looker.listed(),
             Catch::Contains("free") &&
                 Catch::Contains("\nLEFT OVER  MEMBERS  HOLDER  PID  FOR\n" + kLine));
  CHECK_THAT(looker.status_of({}),
             Catch::StartsWith("no lock is held\n") && Catch::Contains(kLine));
}

TEST_CASE("a hold that is left over is shown beside that of a majority",
          "[cli][view][mirrored][M1][M8]") {
  LookerAtRest looker;
  const auto jobs = looker.holder.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  const auto json = nlohmann::json::parse(looker.listed({.format = Format::json}));
  REQUIRE(json["locks"].size() == 1);
  CHECK(json["locks"][0]["process"] == "holder");
  CHECK(json["locks"][0]["members"] == nlohmann::json({1, 2}));
  REQUIRE(json["left_over"].size() == 1);
  CHECK(json["left_over"][0]["name"] == "jobs");
  CHECK(json["left_over"][0]["members"] == nlohmann::json::array({3}));
  CHECK(json["left_over"][0]["process"] == "eve");
  CHECK(json["left_over"][0]["fence"] == 1);
  CHECK(json["left_over"][0]["held_ms"] == 20'000);
}

TEST_CASE("with -v each cell of what is left over stands below its heading",
          "[cli][view][mirrored][M8]") {
  LookerAtRest looker;
  const std::string since = looker.left_over()[0]["when"];
  CHECK_THAT(looker.listed({.common = {.verbosity = Verbosity::verbose}}),
             Catch::Contains("  FENCE  PROCESS\njobs       3        eve     -    20s  " + since +
                             "  1      eve\n"));
}

TEST_CASE("a hold that two members of five carry is left over once, on both",
          "[cli][view][mirrored][M8]") {
  LookerAtRest looker(5);
  looker.fleet.put_taken(4);
  REQUIRE(looker.left_over().size() == 1);
  CHECK(looker.left_over()[0]["members"] == nlohmann::json({3, 5}));
}

TEST_CASE("a hold that is shown as the lock's is not left over", "[cli][view][mirrored][M8]") {
  LookerAtRest looker;
  const auto jobs = looker.holder.lock("other");
  looker.holder.set_away(2, true);
  REQUIRE(jobs->lock_try("x"));
  CHECK(looker.left_over().size() == 1);
  // A majority might have that of the third member.
  looker.observer.set_away(1, true);
  CHECK(looker.left_over().empty());
  CHECK_THAT(looker.listed(), !Catch::Contains("LEFT OVER"));
}

TEST_CASE("a lock whose holder has a malformed ping is shown without what is left over of others",
          "[cli][view][mirrored][M8][R14]") {
  LookerAtRest looker;
  const auto other = looker.holder.lock("other");
  REQUIRE(other->lock_try("x"));
  for (const OpenedMemoryStore& member : looker.fleet.stores) {
    member.tables.put_ping({{"_id", std::string("holder")}, {"ping", std::string("yesterday")}});
  }
  CHECK_THAT(looker.status_of({.lock = "other"}, kMalformed),
             Catch::StartsWith("other: taken\n") && !Catch::Contains("left over"));
}

TEST_CASE("a list of some locks shows what is left over of these", "[cli][view][mirrored][M8]") {
  LookerAtRest looker;
  CHECK_THAT(looker.listed({.pattern = "j*"}), Catch::Contains(kLine));
  CHECK_THAT(looker.listed({.pattern = "x*"}), !Catch::Contains("LEFT OVER"));
  CHECK_THAT(looker.listed({.held = true}), Catch::Contains(kLine));
}

TEST_CASE("break frees a hold that one member alone carries", "[cli][break][mirrored][M1][M8]") {
  LookerAtRest looker;
  const bool beside_a_free_lock = GENERATE(false, true);
  if (beside_a_free_lock) {
    const auto jobs = looker.holder.lock("jobs");
    REQUIRE(jobs->lock_try("x"));
    REQUIRE(jobs->unlock() == UnlockResult::released);
  }
  CHECK_THAT(looker.broken(kSuccess), Catch::Contains("left over  on 3, by eve") &&
                                          Catch::Contains("distlock: freed jobs\n") &&
                                          !Catch::Contains("nobody has ever"));
  CHECK(looker.fleet.holders("jobs") == std::vector<std::string>{"", "", ""});
  CHECK_THAT(looker.broken(beside_a_free_lock ? kSuccess : kBusy),
             Catch::Contains(beside_a_free_lock ? "is free already" : "nobody has ever claimed"));
}

TEST_CASE("break frees each of the holds that single members carry",
          "[cli][break][mirrored][M1][M8]") {
  LookerAtRest looker(5);
  looker.fleet.put_taken(3, Token{{7}});
  looker.broken(kSuccess);
  CHECK(looker.fleet.holders("jobs") == std::vector<std::string>(5));
}

TEST_CASE("break says so where one of several holds of single members is not freed",
          "[cli][break][mirrored][M8]") {
  LookerAtRest looker(5);
  looker.fleet.put_taken(3, Token{{7}});
  const std::size_t refusing = GENERATE(2, 3);
  looker.observer.members[refusing]->fail("release", Fault::rejected, 2);
  looker.broken(kBusy);
  std::vector<std::string> left(5);
  left[refusing] = "eve";
  CHECK(looker.fleet.holders("jobs") == left);
}

TEST_CASE("a hold that the one member which carries it does not free is not called freed",
          "[cli][break][mirrored][M8]") {
  LookerAtRest looker;
  looker.observer.members[2]->fail("release", Fault::rejected);
  CHECK_THAT(looker.broken(kBusy),
             Catch::Contains("jobs is still held so by some members") && !Catch::Contains("freed"));
}
