#include "sim/batch.h"

namespace distlock::sim {
namespace {

using Shows = std::function<bool(const Narrowing&)>;

bool drop_faults(const Shows& shows, Narrowing& narrowing) {
  bool smaller = false;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (!(*narrowing.faults)[i]) continue;
    Narrowing without = narrowing;
    without.faults->reset(i);
    if (!shows(without)) continue;
    narrowing = without;
    smaller = true;
  }
  return smaller;
}

template <class Number>
bool lower(const Shows& shows, Narrowing& narrowing, std::optional<Number> Narrowing::*what,
           Number to) {
  Narrowing lower = narrowing;
  lower.*what = to;
  if (!shows(lower)) return false;
  narrowing = lower;
  return true;
}

}  // namespace

Narrowing shrink(std::uint64_t seed, Narrowing narrowing) {
  return shrink(setup_from(seed, narrowing), narrowing, [seed](const Narrowing& smaller) {
    return run(setup_from(seed, smaller)).violation.has_value();
  });
}

Narrowing shrink(const Setup& setup, Narrowing narrowing, const Shows& shows) {
  narrowing.faults = setup.faults;
  narrowing.processes = setup.processes;
  narrowing.workers = setup.workers;
  narrowing.horizon = setup.horizon;
  for (bool smaller = true; smaller;) {
    smaller = drop_faults(shows, narrowing);
    for (int n = 1; n < *narrowing.processes && !smaller; ++n) {
      smaller = lower(shows, narrowing, &Narrowing::processes, n);
    }
    if (*narrowing.workers > 1) smaller |= lower(shows, narrowing, &Narrowing::workers, 1);
    const Time half = *narrowing.horizon / 2;
    if (half > Time{1'000'000}) smaller |= lower(shows, narrowing, &Narrowing::horizon, half);
    const Time less = *narrowing.horizon * 9 / 10;
    if (less > Time{1'000'000}) smaller |= lower(shows, narrowing, &Narrowing::horizon, less);
  }
  return narrowing;
}

}  // namespace distlock::sim
