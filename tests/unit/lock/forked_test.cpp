// Lock objects of before a fork, in the child (R16).
#include <catch2/catch.hpp>

#include "distlock/distributed_lock.h"
#include "support/fleet.h"
#include "support/forked_child.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("in a forked child the parent's lock refuses every call", "[lock][R16]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(answer_of_child([&] {
          if (lock->held()) return 1;
          if (lock->valid_until() != SteadyTime::min()) return 2;
          if (lock->remaining() != 0s) return 3;
          if (!says_forked([&] { lock->check(); })) return 4;
          if (!says_forked([&] { (void)lock->still_held(); })) return 5;
          if (!says_forked([&] { (void)lock->record(); })) return 6;
          if (!says_forked([&] { (void)lock->lost(); })) return 7;
          if (!says_forked([&] { lock->on_lost({}); })) return 8;
          if (!says_forked([&] { lock->on_at_risk({}); })) return 9;
          if (!says_forked([&] { (void)lock->stop_token(); })) return 10;
          if (!says_forked([&] { lock->on_waiting({}); })) return 11;
          if (!says_forked([&] { (void)lock->lock_try("y"); })) return 12;
          if (!says_forked([&] { (void)lock->reclaim("y"); })) return 13;
          if (!says_forked([&] { (void)lock->try_lock_for(1s); })) return 14;
          if (!says_forked([&] { DistributedLock(a.pinger, "another"); })) return 15;
          if (lock->unlock() != UnlockResult::not_ours) return 16;
          lock.reset();
          return 0;
        }) == 0);
  CHECK(lock->still_held());
}
