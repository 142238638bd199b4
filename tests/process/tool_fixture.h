#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "process/tool_process.h"
#include "support/sqlite_file.h"

namespace distlock::testing {

/// One SQLite file, and tools that use it.
class ToolFixture {
 public:
  using Words = std::vector<std::string>;

  ToolProcess::Environment environment() const {
    return {{"HOME", folder.path().string()}, {"DISTLOCK_URI", "sqlite:" + file().string()}};
  }

  std::unique_ptr<ToolProcess> start(const Words& words) const {
    return std::make_unique<ToolProcess>(words, environment());
  }

  /// Starts one that holds "jobs" until its input is closed, and waits until it does.
  std::unique_ptr<ToolProcess> hold(const Words& options = {}) const {
    Words words{"run"};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"jobs", "--", "sh", "-c", "echo ready; exec cat"}) {
      words.emplace_back(word);
    }
    auto holder = start(words);
    if (holder->next_output() != "ready") throw std::runtime_error("it does not hold");
    return holder;
  }

  int status(const Words& words) {
    const auto tool = start(words);
    tool->close_input();
    const int result = tool->wait();
    output = tool->rest_of_output();
    messages = tool->rest_of_messages();
    return result;
  }

  /// Of a run that waits for the lock for some time. On a slow machine a short wait ends before the
  /// store has answered, and says so.
  int status_of_wait() {
    return first_answered({"50ms", "1s", "20s"}, [&](const char* limit) {
      return status({"run", "-w", limit, "jobs", "--", "true"});
    });
  }
  /// The status of the first of these runs, whose waits are longer and longer, that is not 69.
  template <class Run>
  static int first_answered(const std::vector<const char*>& limits, const Run& run) {
    int answered = 69;
    for (const char* const limit : limits)
      if (answered == 69) answered = run(limit);
    return answered;
  }

  /// As another program would.
  void change(const std::string& statement) const {
    SqliteFile(file().string()).execute(statement);
  }

  std::filesystem::path file() const { return folder.path() / "locks.db"; }

  TemporaryFolder folder;
  std::string output;
  std::string messages;
};

}  // namespace distlock::testing
