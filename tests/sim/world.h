#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "sim/events.h"
#include "sim/faults.h"
#include "sim/oracle.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/servers.h"
#include "sim/setup.h"
#include "sim/trace.h"

namespace distlock::sim {

/// Everything of one run.
struct World {
  World(const Setup& given, std::ostream* trace_to);

  SimProcess& add_process(const std::string& host, const LockOptions& options);
  std::string lock_name(std::uint64_t number) const { return "lock " + std::to_string(number); }

  const Setup setup;
  Random random;
  Scheduler scheduler;
  Faults faults;
  Oracle oracle;
  Trace trace;
  Servers servers;
  std::vector<std::unique_ptr<SimProcess>> processes;
};

/// How a run went.
struct Outcome {
  std::optional<std::string> violation;
  FaultCounts faults;
  EventCounts events;
  std::uint64_t steps = 0;
};

/// Runs the schedule of that setup from beginning to end. Nothing but the setup has a say.
Outcome run(const Setup& setup, std::ostream* trace_to = nullptr);

}  // namespace distlock::sim
