#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Answers of members that were long on their way (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Meanwhile the member may have lost what the answer shows, and have come back.
TEST_CASE("an answer that was too long on its way does not count, however soon the identity comes",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  const bool late = GENERATE(false, true);
  const auto longest = 2 * ann.members[1]->call_limit();
  ann.members[1]->after("list", [&] { fleet.clock->advance(longest + (late ? 1ms : 0ms)); });
  const auto failure = thrown_by([&] { return ann.store->list(); });
  CHECK(failure == (late ? std::optional(Errc::not_applied) : std::nullopt));
}
