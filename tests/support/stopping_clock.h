#pragma once

#include <memory>
#include <stop_token>

#include "distlock/stores.h"
#include "support/fleet.h"
#include "support/manual_clock.h"

namespace distlock::testing {

/// Requests a stop as soon as a wait until `from` or later begins.
struct StoppingClock : ManualClock {
  bool wait_until(SteadyTime until, const std::stop_token& token) override {
    if (until >= from) stop.request_stop();
    return ManualClock::wait_until(until, token);
  }
  void stop_the_next_wait() { from = SteadyTime::min(); }

  SteadyTime from = SteadyTime::max();
  std::stop_source stop;
};

/// Gives one to a fleet whose store and processes are still to be made.
inline std::shared_ptr<StoppingClock> stopping_clock_of(Fleet& fleet) {
  const auto clock = std::make_shared<StoppingClock>();
  fleet.clock = clock;
  fleet.store = make_memory_store(clock, {});
  return clock;
}

}  // namespace distlock::testing
