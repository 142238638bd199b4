#pragma once

#include <iosfwd>

#include "original/algorithms.h"
#include "original/flaws.h"
#include "sim/setup.h"

namespace distlock::original {

/// A world in which only programs of one published algorithm run, drawn from a seed. Their servers
/// keep what they confirmed, but for one of Redlock's that may be emptied. The original's have no
/// clock that matters.
struct FleetSetup {
  Algorithm algorithm = Algorithm::original;
  sim::Setup world;
  Constants constants;
  bool together = false;
};
FleetSetup fleet_setup_from(Algorithm algorithm, std::uint64_t seed,
                            const sim::Narrowing& narrowing = {});

/// Runs it from beginning to end.
Findings run(const FleetSetup& setup, std::ostream* trace_to = nullptr);

}  // namespace distlock::original
