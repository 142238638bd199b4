// A stop while the outcome of a claim is unknown (R8, R15).
#include <catch2/catch.hpp>

#include "support/known_free.h"
#include "support/server_fleet.h"
#include "support/stopping_clock.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a stop during the read-back of a claim that failed ends the wait without an error",
          "[lock][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  // In line only a claim from one's own release is one to be read back.
  const bool from_own_release = GENERATE(false, true);
  if (from_own_release) make_known_free(*lock);
  a.store->has_line = from_own_release && GENERATE(false, true);
  std::stop_source stop;
  a.store->fail("claim", Fault::lost_request);
  a.store->before("claim", [&] {
    a.store->before("inspect", [&] {
      fleet.clock->advance(1min);
      stop.request_stop();
    });
  });
  CHECK_FALSE(lock->try_lock_for(1h, stop.get_token()));
}

TEST_CASE("a stop ends the wait for the cutoff of a claim of unknown outcome", "[lock][R8][R15]") {
  Fleet fleet;
  const auto clock = stopping_clock_of(fleet);
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  a.store->fail("claim", Fault::lost_request);
  clock->stop_the_next_wait();
  CHECK_FALSE(lock->lock(clock->stop.get_token()));
  CHECK(clock->stop.stop_requested());
  CHECK(clock->waited() == 0s);
  CHECK(a.pinger->stats().pending_releases == 1);
}
