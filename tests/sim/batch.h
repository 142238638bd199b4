#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "sim/world.h"

namespace distlock::sim {

/// The sums over many runs.
struct Totals {
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  FaultCounts faults;
  EventCounts events;
  std::vector<std::pair<std::uint64_t, std::string>> violations;  // by seed; the first hundred

  void add(std::uint64_t seed, const Outcome& outcome);
  Totals& operator+=(const Totals& other);
};

/// Runs the seeds from `first` to `last` - 1 on `jobs` threads. Stops early if `stop` says so, or
/// at the first violation if `until_violation`: then some seeds were not run.
Totals run_batch(std::uint64_t first, std::uint64_t last, int jobs, const Narrowing& narrowing,
                 const std::atomic<bool>& stop, bool until_violation);

/// Fewer processes, faults and steps that still violate what that seed violates.
Narrowing shrink(std::uint64_t seed, Narrowing narrowing);
/// The same for whatever else a run of that setup may show.
Narrowing shrink(const Setup& setup, Narrowing narrowing,
                 const std::function<bool(const Narrowing&)>& shows);

/// How often each fault and each branch happened.
void print_coverage(std::ostream& out, const Totals& totals);

/// Faults that never mattered and branches that were never taken.
std::vector<std::string> never_reached(const Totals& totals, bool mirrored);

/// So that a long batch can be resumed.
void save(std::ostream& out, std::uint64_t next_seed, const Totals& totals);
/// Errors: std::runtime_error if it is not such a file, naming it.
std::uint64_t load(std::istream& in, const std::string& file, Totals& totals);

}  // namespace distlock::sim
