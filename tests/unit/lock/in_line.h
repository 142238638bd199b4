#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <stdexcept>

#include "distlock/error.h"
#include "support/captured_log.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

namespace distlock::testing {

// A lock of process "a", on a store with lines.
struct InLine {
  explicit InLine(const LockOptions& options = {}) : lock(a.lock("jobs", options)) {
    a.store->has_line = true;
  }
  std::unique_ptr<DistributedLock> held_by(const char* process) {
    auto other = fleet.process(process).lock("jobs");
    REQUIRE(other->lock_try("work"));
    return other;
  }
  std::size_t places() { return fleet.stored("jobs").line.size(); }
  /// The program, told of a wait that begins now, lets its time go by and then does that.
  void outlast(std::chrono::nanoseconds wait, const std::function<void()>& and_then) {
    const SteadyTime deadline = fleet.clock->steady_now() + wait;
    lock->on_waiting([this, deadline, and_then](const WaitReport&) {
      fleet.clock->advance(deadline - fleet.clock->steady_now());
      and_then();
    });
  }
  /// A wait that is over once the program was told of it.
  void outlast_a_wait() {
    outlast(std::chrono::minutes{1}, [] {});
    CHECK_FALSE(lock->try_lock_for(std::chrono::minutes{1}));
  }
  void check_given_up_by_round() {
    CHECK(a.store->calls("leave") == 0);
    CHECK(places() == 1);
    a.pinger->ping_round();
    CHECK(places() == 0);
  }

  Fleet fleet;
  distlock::testing::Process a = fleet.process("a");
  std::unique_ptr<DistributedLock> lock;
};

}  // namespace distlock::testing
