#include "cli/readmit.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "cli/exit_status.h"
#include "support/mirror_fleet.h"

using namespace distlock;
using namespace distlock::cli;

TEST_CASE("readmit says on what it counts before it asks, also with -q", "[cli][M6]") {
  distlock::testing::MirrorFleet fleet;
  const auto holder = fleet.process("holder");
  const auto observer = fleet.process("observer");
  holder.pinger->ping_round();
  REQUIRE(holder.lock("jobs")->lock_try("x"));
  fleet.empty(2);
  ReadmitArguments arguments{.member = 3};
  arguments.common.verbosity = GENERATE(Verbosity::normal, Verbosity::quiet);
  const ConnectionString connection("mirrored+sqlite:a,b,c");
  std::istringstream in("n\n");
  std::ostringstream out;
  std::ostringstream err;
  CHECK(readmit(arguments, {*observer.store, *fleet.clock, connection}, {in, out, err, true}) ==
        kBusy);
  const std::string said = err.str();
  const auto assumed = said.find("the member back only if all such processes have ended");
  REQUIRE(assumed != std::string::npos);
  CHECK(said.find("3       empty") < assumed);
  CHECK(said.find("Take it back? [y/N]") > assumed);
  CHECK_THAT(said, Catch::EndsWith("left member 3 as it is\n"));
}
