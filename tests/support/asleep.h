#pragma once

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

namespace distlock::testing {

/// Whether that thread of this process, by its gettid(), waits for something.
inline bool asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const auto name_ends = stat.rfind(") ");
  return name_ends != std::string::npos && stat[name_ends + 2] == 'S';
}

}  // namespace distlock::testing
