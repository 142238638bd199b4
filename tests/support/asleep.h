#pragma once

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "stores/nap.h"

namespace distlock::testing {

/// A file of the system on that thread of this process; empty once the thread has ended.
inline std::string said_of(pid_t thread, const std::string& file) {
  std::ifstream stream("/proc/self/task/" + std::to_string(thread) + '/' + file);
  std::string text;
  std::getline(stream, text, '\0');
  return text;
}

/// Whether that thread of this process, by its gettid(), sleeps right now.
inline bool sleeps_now(pid_t thread) {
  const std::string stat = said_of(thread, "stat");
  const auto name_ends = stat.rfind(") ");
  return name_ends != std::string::npos && stat[name_ends + 2] == 'S';
}

/// How often that thread has given up its processor, or lost it; empty once it has ended.
inline std::string turns_of(pid_t thread) {
  const std::string status = said_of(thread, "status");
  const auto found = status.find("voluntary_ctxt_switches");
  return found == std::string::npos ? "" : status.substr(found);
}

/// Whether that thread of this process waits for something, and has done so for some milliseconds:
/// a mutex of the memory's allocator is not what a test means.
inline bool asleep(pid_t thread) {
  if (!sleeps_now(thread)) return false;
  const std::string before = turns_of(thread);
  nap(std::chrono::milliseconds{3});
  return sleeps_now(thread) && turns_of(thread) == before;
}

/// The same of a thread that has not ended: that one never will do what a test waits for.
inline std::string turns_of_running(pid_t thread) {
  std::string turns = turns_of(thread);
  if (turns.empty()) throw std::runtime_error("the thread has ended, and does not wait");
  return turns;
}

/// Until a thread that has still to tell its gettid() is asleep.
inline void await_sleep(const std::atomic<pid_t>& thread) {
  while (thread == 0) std::this_thread::yield();
  while (!asleep(thread)) static_cast<void>(turns_of_running(thread));
}

/// Until that thread has slept again and again, as one that waits by looking does.
inline void await_naps(const std::atomic<pid_t>& thread) {
  constexpr long kNaps = 20;
  while (thread == 0) std::this_thread::yield();
  const auto naps = [&] {
    const std::string turns = turns_of_running(thread);
    return std::stol(turns.substr(turns.find(':') + 1));
  };
  for (const long before = naps(); naps() < before + kNaps;) nap(std::chrono::milliseconds{1});
}

}  // namespace distlock::testing
