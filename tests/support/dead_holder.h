#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>

#include "support/fleet.h"

namespace distlock::testing {

/// A process that holds "balancer", and has been silent for the default window: the lock can be
/// taken over.
inline std::unique_ptr<DistributedLock> dead_holder(Fleet& fleet) {
  auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  fleet.clock->advance(std::chrono::minutes{16});
  return dead;
}

}  // namespace distlock::testing
