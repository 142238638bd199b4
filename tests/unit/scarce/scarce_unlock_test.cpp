// Unlocks without memory.
#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "line_writer.h"
#include "support/captured_log.h"
#include "support/crowd.h"
#include "support/faulty_store.h"
#include "support/fleet.h"
#include "unit/scarce/scarcity.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("an unlock that gets no memory ends, and its hold is freed when there is some",
          "[scarce][lock][R8][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("a name that is too long for a string without memory of its own");
  REQUIRE(lock->lock_try("x"));
  auto result = UnlockResult::released;
  REQUIRE(ends_without_memory([&] { result = lock->unlock(); }));
  CHECK(result == UnlockResult::pending);
  // So its ping would stay.
  CHECK(a.pinger->stats().pending_releases == 1);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored(lock->name()).taken());
}

TEST_CASE(
    "an unlock that gets no memory passes nothing on, and its hold is freed when there is some",
    "[scarce][lock][R8][R21][threads]") {
  PassingScene scene;
  DistributedLock& lock = *scene.first->lock;
  const LockRecord first = scene.first->hold();
  scene.first->unlock = [&] {
    pthread_setname_np(pthread_self(), "starving");
    const NoMemoryFor me("starving");
    return lock.unlock();
  };
  CHECK(scene.first->give_up_while_time_passes(*scene.crowd.clock) == UnlockResult::pending);
  CHECK(scene.crowd.pinger->stats().pending_releases == 1);
  scene.crowd.clock->advance(50ms);  // Nothing is passed on any more.
  scene.crowd.pinger->ping_round();
  CHECK(scene.second().hold().ts != first.ts);
}

TEST_CASE("a claim anew that gets no memory ends, and the old hold is freed when there is some",
          "[scarce][lock][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("a name that is too long for a string without memory of its own");
  REQUIRE(lock->lock_try("x"));
  fleet.clock->advance(15min);
  bool got = false;
  REQUIRE(ends_without_memory([&] { got = lock->reclaim("y"); }));
  CHECK_FALSE(got);
  CHECK(a.pinger->stats().pending_releases == 1);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored(lock->name()).taken());
}
