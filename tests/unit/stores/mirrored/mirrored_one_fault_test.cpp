#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "support/mirror_fleet.h"
#include "support/tampering.h"
#include "support/thrown.h"

// One member denies claims, has a malformed document or has lost its data, and the others answer:
// what a call says then (M2, M3).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a member that denies claims ends no wait for another that is away", "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[0]->during_each_call([](const std::string& call) {
    if (call == "claim") throw Error(Errc::permission_denied, "no right");
  });
  ann.set_away(2, true);
  const auto lock = ann.lock("jobs");
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::not_applied);
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "", ""});
  ann.members[1]->during_each_call([](const std::string& call) {
    if (call == "claim") throw Error(Errc::permission_denied, "no right");
  });
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::permission_denied);
  int looks = 0;
  ann.members[1]->during_each_call([&](const std::string& call) {
    if (call == "inspect" && ++looks == 8) ann.set_away(2, false);
  });
  CHECK(lock->try_lock_for(1min));
  CHECK(looks >= 8);
  ann.members[1]->during_each_call({});
}

TEST_CASE("a malformed state on one member is named where the others cannot tell who holds",
          "[mirrored][R9][R14]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  tamper(fleet.stores[1].tables, "jobs", "state", std::string("taken"));
  CHECK(lock->still_held());
  fleet.stores[2].tables.remove_lock("jobs");
  const auto ask = [&] { return lock->still_held(); };
  CHECK_THROWS_WITH(ask(), Catch::Contains("\"state\"") && Catch::Contains("mend"));
  CHECK(thrown_by(ask) == Errc::bad_record);
  // The one that is away could tell.
  ann.set_away(0, true);
  CHECK(thrown_by(ask) == Errc::not_applied);
  CHECK(lock->held());
  ann.set_away(0, false);
}

TEST_CASE("a hold is not called lost where the member whose clock limits its claim has no data",
          "[mirrored][M3][R8][R9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(16min);
  ann.pinger->ping_round();
  fleet.empty(0);
  CHECK(thrown_by([&] { return lock->reclaim("again"); }) == Errc::not_applied);
}
