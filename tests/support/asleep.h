#pragma once

#include <unistd.h>

#include <fstream>
#include <string>

namespace distlock::testing {

/// A file of the system on that thread of this process; empty once the thread has ended.
inline std::string said_of(pid_t thread, const std::string& file) {
  std::ifstream stream("/proc/self/task/" + std::to_string(thread) + '/' + file);
  std::string text;
  std::getline(stream, text, '\0');
  return text;
}

/// Whether that thread of this process, by its gettid(), waits for something.
inline bool asleep(pid_t thread) {
  const std::string stat = said_of(thread, "stat");
  const auto name_ends = stat.rfind(") ");
  return name_ends != std::string::npos && stat[name_ends + 2] == 'S';
}

}  // namespace distlock::testing
