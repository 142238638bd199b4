#pragma once

#include <string>
#include <vector>

#include "cli/status.h"
#include "distlock/record.h"
#include "distlock/store.h"

namespace distlock::cli {

/// Frees a hold, and rings for those who wait for its lock, as a process does that ends then (R19).
class RingingRelease {
 public:
  RingingRelease(const OpenedStore& opened, const LockRecord& hold)
      : opened_(opened), hold_(hold) {}

  /// Rings for the first two in line: this process may be ended before it rings again.
  /// Errors: those of Store::release().
  ReleaseResult release();

  /// Rings for those behind them as their turns come, until somebody has claimed or all have been
  /// told; for a second at most: then no call begins.
  void follow();

 private:
  void ring(std::vector<std::string> processes);
  SteadyTime ring_for_the_next(SteadyTime until);

  const OpenedStore& opened_;
  const LockRecord& hold_;
  std::vector<std::string> told_;  // Processes.
  bool all_told_ = true;
};

}  // namespace distlock::cli
