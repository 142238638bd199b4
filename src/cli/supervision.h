#pragma once

#include <functional>
#include <stop_token>

#include "cli/child_process.h"
#include "cli/countdown.h"
#include "cli/keeper.h"

namespace distlock::cli {

/// The hold under which a command runs.
struct Guarded {
  std::function<SteadyTime()> valid_until;  ///< Of the hold; the distant past if it is lost.
  std::stop_token lost;                     ///< Stopped when the hold is lost.
  EndingPlan plan;
  /// Whether it is lost because its deadline has passed. Then there is no time for a grace.
  std::function<bool()> ran_out = [] { return false; };
};

/// Runs the command to its end, passing signals on to it. If the hold is lost, or its deadline
/// draws near, ends the command and all that it has started, and waits until they are gone.
/// Errors: those of ChildProcess() and ended().
Ending run_to_end(const Command& command, const Signals& signals, const Guarded& hold,
                  Keeper& keeper);

}  // namespace distlock::cli
