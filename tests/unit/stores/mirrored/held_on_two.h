#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "support/mirror_fleet.h"

namespace distlock::testing {

using Names = std::vector<std::string>;

/// A hold on two of three members. The other one, the third by default, was away at its claim.
struct HeldOnTwo {
  explicit HeldOnTwo(std::size_t away = 2) {
    ann.pinger->ping_round();
    ann.set_away(away, true);
    REQUIRE(lock->lock_try("x"));
    REQUIRE(fleet.holders("jobs")[away].empty());
    ann.set_away(away, false);
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
  std::unique_ptr<DistributedLock> lock = ann.lock("jobs");
};

}  // namespace distlock::testing
