#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "distlock/error.h"
#include "process/tool_process.h"
#include "stores/sqlite/sqlite_database.h"

namespace distlock::testing {

/// Whether nobody is in the gate of a SQLite file, and nobody writes.
inline bool nobody_writes(const std::filesystem::path& file) {
  const int gate = open((file.string() + "-gate").c_str(), O_RDWR | O_CLOEXEC);
  bool free = gate < 0 || flock(gate, LOCK_EX | LOCK_NB) == 0;
  try {
    SqliteDatabase database(file.string(), std::chrono::milliseconds{1});
    database.execute("test", Effect::writes, "BEGIN IMMEDIATE");
    database.execute("test", Effect::writes, "ROLLBACK");
  } catch (const Error&) {
    free = false;
  }
  close(gate);
  return free;
}

/// Stops the tool at a moment at which it writes nothing: a process that is stopped within a write
/// keeps its SQLite file from all others.
inline void stop_at_rest(const ToolProcess& tool, const std::filesystem::path& file) {
  for (;;) {
    tool.send(SIGSTOP);
    siginfo_t stopped{};
    if (waitid(P_PID, static_cast<id_t>(tool.id()), &stopped, WSTOPPED | WEXITED | WNOWAIT) != 0)
      throw std::runtime_error("the tool cannot be waited for");
    if (nobody_writes(file)) return;
    tool.send(SIGCONT);
  }
}

}  // namespace distlock::testing
