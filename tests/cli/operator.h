#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "cli/break.h"
#include "support/fleet.h"

namespace distlock::cli {

/// An operator before a store in which somebody holds "jobs".
class Operator {
 public:
  Operator() { REQUIRE(lock->lock_try("testing")); }

  int breaks(const std::string& name, const std::string& answer, bool on_terminal = true,
             bool confirmed = false) {
    BreakArguments arguments;
    arguments.lock = name;
    arguments.confirmed = confirmed;
    return breaks(arguments, answer, on_terminal);
  }
  int breaks(const BreakArguments& arguments, const std::string& answer, bool on_terminal = true) {
    std::istringstream in(answer);
    return break_hold(arguments, {*observer.store, *fleet.clock, connection},
                      {.in = in, .out = out, .err = err, .in_is_terminal = on_terminal});
  }
  /// With --yes and --wait. `at_look`: what happens before each look at the holder.
  int breaks_and_waits(const std::function<void(int look)>& at_look) {
    std::function<void(int)> next = [&](int look) {
      at_look(look);
      observer.store->before("list", [&next, look] { next(look + 1); });
    };
    observer.store->before("list", [&next] { next(1); });
    BreakArguments arguments;
    arguments.lock = "jobs";
    arguments.confirmed = arguments.wait = true;
    const auto start = fleet.clock->steady_now();
    const int status = breaks(arguments, "");
    waited = fleet.clock->steady_now() - start;
    return status;
  }
  bool taken() { return fleet.stored("jobs").taken(); }

  distlock::testing::Fleet fleet;
  distlock::testing::Process holder = fleet.process("holder");
  distlock::testing::Process observer = fleet.process("observer");
  std::unique_ptr<DistributedLock> lock = holder.lock("jobs");
  ConnectionString connection{"memory:"};
  std::ostringstream out;
  std::ostringstream err;
  std::chrono::nanoseconds waited{};
};

}  // namespace distlock::cli
