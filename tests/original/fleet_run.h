#pragma once

#include <iosfwd>

#include "original/flaws.h"
#include "original/program.h"
#include "sim/setup.h"

namespace distlock::original {

/// A world in which only originals run, drawn from a seed. Their one server keeps what it confirmed
/// and has no clock that matters.
struct FleetSetup {
  sim::Setup world;
  Constants constants;
  bool together = false;
};
FleetSetup fleet_setup_from(std::uint64_t seed, const sim::Narrowing& narrowing = {});

/// Runs it from beginning to end.
Findings run(const FleetSetup& setup, std::ostream* trace_to = nullptr);

}  // namespace distlock::original
