#pragma once

#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "cli/child_process.h"
#include "cli/descendants.h"
#include "cli/keeper.h"
#include "cli/signals.h"

// Commands that end by a signal of somebody's.
namespace distlock::cli {

inline const Command kSleep{.words = {"sleep", "1000"}, .environment = {}};

/// Waits until the only command of this process has been executed, as "sleep".
inline void wait_for_sleep(const Keeper& keeper) {
  for (std::string name; name != "sleep"; std::this_thread::yield()) {
    const auto command = descendants_of(getpid(), keeper.process());
    const std::string process = command.empty() ? "self" : std::to_string(command.front());
    std::getline(std::ifstream("/proc/" + process + "/comm"), name);
  }
}

/// Nothing: it still runs after a minute.
inline std::optional<Ending> end_of(ChildProcess& child, const Signals& signals) {
  constexpr int kMinute = 60'000;
  pollfd waited{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  std::optional<Ending> ending;
  while (!(ending = child.ended()) && poll(&waited, 1, kMinute) == 1) (void)signals.next();
  return ending;
}

/// Nothing: no signal ended it, or it still runs after a minute.
inline std::optional<int> signal_that_ended(ChildProcess& child, const Signals& signals) {
  return end_of(child, signals).value_or(Ending{}).by_signal;
}

}  // namespace distlock::cli
