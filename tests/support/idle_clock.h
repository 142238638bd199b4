#pragma once

#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "support/asleep.h"
#include "support/manual_clock.h"

namespace distlock::testing {

/// How often each other thread of this process was given a processor; nothing if one of them runs.
inline std::optional<std::map<pid_t, std::string>> turns_of_sleeping_threads() {
  std::map<pid_t, std::string> turns;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto thread = static_cast<pid_t>(std::stol(entry.path().filename().string()));
    if (thread == gettid()) continue;
    if (!sleeps_now(thread)) return std::nullopt;
    turns[thread] = turns_of(thread);
    if (turns[thread].empty()) return std::nullopt;
  }
  return turns;
}

/// Whether all other threads waited at one moment. Each that waits now, and has had no turn since
/// the first look, waited all the time between.
inline bool others_rest() {
  const auto before = turns_of_sleeping_threads();
  return before && before == turns_of_sleeping_threads();
}

/// Time that passes only while a thread waits and all others rest: then nothing can end the wait
/// any more. For tests with one thread at a time that waits so.
class IdleClock : public ManualClock {
 public:
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    while (!others_rest()) {
      if (stop.stop_requested()) return false;
      std::this_thread::yield();
    }
    return ManualClock::wait_until(until, stop);
  }
};

}  // namespace distlock::testing
