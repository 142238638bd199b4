#pragma once

#include <catch2/catch.hpp>

#include "distlock/distributed_lock.h"

namespace distlock::testing {

/// Holds the lock once. After that there are a ping and a document, and the next claim, knowing the
/// lock to be free, starts without a look.
inline void make_known_free(DistributedLock& lock) {
  REQUIRE(lock.lock_try("make it known to be free"));
  REQUIRE(lock.unlock() == UnlockResult::released);
}

}  // namespace distlock::testing
