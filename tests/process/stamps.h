#pragma once

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "distlock/clock.h"

namespace distlock::testing {

/// With --takeover-after 8s: less an allowance of 1508 ms.
inline constexpr double kValidFor = 6.492;
/// That much /proc/uptime may be behind.
inline constexpr double kTick = 0.01;

/// The time that commands stamp, in seconds.
inline double now() {
  const auto since_boot = host_clock()->steady_now().time_since_epoch();
  return std::chrono::duration<double>(since_boot).count();
}

/// A shell's loop that writes the time again and again.
inline std::string stamping(const std::string& trap) {
  return "trap " + trap +
         " TERM; while :; do read up rest </proc/uptime; echo $up; sleep 0.01; done";
}

/// A shell's command that writes the time once.
inline const std::string kStamp = "read up rest </proc/uptime; echo $up";

inline double last_stamp(const std::string& output) {
  std::istringstream lines(output);
  double last = 0;
  for (double stamp = 0; lines >> stamp;) last = stamp;
  return last;
}

/// Words of a tool that runs a shell's script under the lock "jobs".
inline std::vector<std::string> run(const std::vector<std::string>& options,
                                    const std::string& script) {
  std::vector<std::string> words{"run"};
  words.insert(words.end(), options.begin(), options.end());
  for (const char* word : {"jobs", "--", "sh", "-c"}) words.emplace_back(word);
  words.push_back(script);
  return words;
}

}  // namespace distlock::testing
