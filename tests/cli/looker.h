#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "cli/exit_status.h"
#include "cli/status.h"
#include "cli/watch.h"
#include "support/fleet.h"

namespace distlock::cli::testing {

/// Looks at a store with the locks "jobs" (held), "jobs.old" (free) and "rotate" (held).
class Looker {
 public:
  Looker() {
    REQUIRE(jobs->lock_try("x"));
    REQUIRE(old->lock_try("x"));
    old->unlock();
    REQUIRE(rotate->lock_try("x"));
  }

  std::string names(const ListArguments& wanted) {
    ListArguments arguments = wanted;
    arguments.format = Format::names;
    CHECK(list(arguments, opened(), streams()) == kSuccess);
    return std::exchange(out, std::ostringstream()).str();
  }
  OpenedStore opened() { return {*observer.store, *fleet.clock, connection}; }
  WatchedStore watched() {
    return {[this] { return observer.store; }, *fleet.clock, connection};
  }
  Streams streams() { return {in, out, err}; }

  distlock::testing::Fleet fleet;
  distlock::testing::Process holder = fleet.process("holder");
  distlock::testing::Process observer = fleet.process("observer");
  std::unique_ptr<DistributedLock> jobs = holder.lock("jobs");
  std::unique_ptr<DistributedLock> old = holder.lock("jobs.old");
  std::unique_ptr<DistributedLock> rotate = holder.lock("rotate");
  ConnectionString connection{"memory:"};
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
};

}  // namespace distlock::cli::testing
