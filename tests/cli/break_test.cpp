#include "cli/break.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "cli/exit_status.h"
#include "distlock/error.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::cli;

namespace {

/// An operator before a store in which somebody holds "jobs".
class Operator {
 public:
  Operator() { REQUIRE(lock->lock_try("testing")); }

  int breaks(const std::string& name, const std::string& answer, bool on_terminal = true,
             bool confirmed = false) {
    std::istringstream in(answer);
    BreakArguments arguments;
    arguments.lock = name;
    arguments.confirmed = confirmed;
    return break_hold(arguments, {*desk.store, *fleet.clock, connection},
                      {.in = in, .out = out, .err = err, .in_is_terminal = on_terminal});
  }
  bool taken() { return fleet.stored("jobs").taken(); }

  distlock::testing::Fleet fleet;
  distlock::testing::Process holder = fleet.process("holder");
  distlock::testing::Process desk = fleet.process("desk");
  std::unique_ptr<DistributedLock> lock = holder.lock("jobs");
  ConnectionString connection{"memory:"};
  std::ostringstream out;
  std::ostringstream err;
};

}  // namespace

TEST_CASE("break shows the hold, asks, and frees it", "[cli][break]") {
  Operator someone;
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("holder") && Catch::Contains("Break it? [y/N]"));
  CHECK(someone.out.str().empty());
}

TEST_CASE("anything but yes leaves the hold", "[cli][break]") {
  for (const char* answer : {"", "\n", "n\n", "yep\n"}) {
    Operator someone;
    CHECK(someone.breaks("jobs", answer) == kBusy);
    CHECK(someone.taken());
  }
}

TEST_CASE("without a terminal break wants --yes", "[cli][break]") {
  Operator someone;
  CHECK(someone.breaks("jobs", "y\n", false) == kUsage);
  CHECK(someone.taken());
  CHECK(someone.breaks("jobs", "", false, true) == kSuccess);
  CHECK_FALSE(someone.taken());
}

TEST_CASE("break frees a hold whose holder's ping cannot be judged", "[cli][break][R14]") {
  Operator someone;
  const std::string process = someone.fleet.stored("jobs").process;
  someone.fleet.memory.tables.put_ping({{"_id", process}, {"ping", std::string("yesterday")}});
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("malformed ping"));
}

TEST_CASE("break frees exactly the hold that it showed", "[cli][break][R3]") {
  Operator someone;
  someone.desk.store->before("release", [&] {
    someone.lock->unlock();
    REQUIRE(someone.lock->lock_try("testing again"));
  });
  CHECK(someone.breaks("jobs", "y\n") == kBusy);
  CHECK(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("changed hands"));
}

TEST_CASE("a hold that was released while break asked is free already", "[cli][break][R3]") {
  Operator someone;
  someone.desk.store->before("release", [&] { someone.lock->unlock(); });
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK_THAT(someone.err.str(), Catch::Contains("free already"));
}

TEST_CASE("a lock that is free needs no breaking, and one unknown is a mistake", "[cli][break]") {
  Operator someone;
  someone.lock->unlock();
  CHECK(someone.breaks("jobs", "") == kSuccess);
  CHECK_THAT(someone.err.str(), Catch::Contains("free already"));
  CHECK(someone.breaks("jbos", "") == kBusy);
}

TEST_CASE("a hold that cannot be looked at is not broken", "[cli][break]") {
  Operator someone;
  someone.desk.store->fail("inspect", distlock::testing::Fault::rejected);
  CHECK_THROWS_AS(someone.breaks("jobs", "y\n"), Error);
  CHECK(someone.taken());
}

TEST_CASE("a release whose outcome is unknown is not called done", "[cli][break][R8]") {
  Operator someone;
  someone.desk.store->fail("release", distlock::testing::Fault::lost_reply);
  CHECK_THROWS_AS(someone.breaks("jobs", "y\n"), Error);
}
