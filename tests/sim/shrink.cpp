#include "sim/batch.h"

namespace distlock::sim {
namespace {

bool fails(std::uint64_t seed, const Narrowing& narrowing) {
  return run(setup_from(seed, narrowing)).violation.has_value();
}

bool drop_faults(std::uint64_t seed, Narrowing& narrowing) {
  bool smaller = false;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (!(*narrowing.faults)[i]) continue;
    Narrowing without = narrowing;
    without.faults->reset(i);
    if (!fails(seed, without)) continue;
    narrowing = without;
    smaller = true;
  }
  return smaller;
}

template <class Number>
bool lower(std::uint64_t seed, Narrowing& narrowing, std::optional<Number> Narrowing::*what,
           Number to) {
  Narrowing lower = narrowing;
  lower.*what = to;
  if (!fails(seed, lower)) return false;
  narrowing = lower;
  return true;
}

}  // namespace

Narrowing shrink(std::uint64_t seed, Narrowing narrowing) {
  const Setup setup = setup_from(seed, narrowing);
  narrowing.faults = setup.faults;
  narrowing.processes = setup.processes;
  narrowing.workers = setup.workers;
  narrowing.horizon = setup.horizon;
  for (bool smaller = true; smaller;) {
    smaller = drop_faults(seed, narrowing);
    for (int n = 1; n < *narrowing.processes && !smaller; ++n) {
      smaller = lower(seed, narrowing, &Narrowing::processes, n);
    }
    if (*narrowing.workers > 1) smaller |= lower(seed, narrowing, &Narrowing::workers, 1);
    const Time half = *narrowing.horizon / 2;
    if (half > Time{1'000'000}) smaller |= lower(seed, narrowing, &Narrowing::horizon, half);
    const Time less = *narrowing.horizon * 9 / 10;
    if (less > Time{1'000'000}) smaller |= lower(seed, narrowing, &Narrowing::horizon, less);
  }
  return narrowing;
}

}  // namespace distlock::sim
