#include "log_thread.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "at_exit.h"
#include "fork_guard.h"
#include "line_writer.h"
#include "log_sinks.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;

// How long sinks may hold up the end of the program, and a fork.
constexpr milliseconds kEndMost{1000};
constexpr milliseconds kForkMost{100};

// The level that the program has chosen; kNotChosen at first.
constexpr int kNotChosen = -1;
std::atomic<int> chosen_level{kNotChosen};

LogLevel least_level(LogLevel by_default) {
  const int chosen = chosen_level.load(std::memory_order_relaxed);
  return chosen == kNotChosen ? by_default : static_cast<LogLevel>(chosen);
}

void flush_at_exit();

// Boost.Log is there already, and so is destroyed later. Static locks that log even later do so on
// their own threads.
constinit AtExit flush_at_end{flush_at_exit};

struct Log {
  Log() { flush_at_end.ensure(); }

  std::atomic<bool> ended = false;
  LineWriter lines{"dist_lock log", [](LogLevel level, const std::string& text) {
                     log::write_to_sinks(level, text, least_level(LogLevel::warning));
                   }};
};

// A forked child has its own: it inherits neither the thread nor what waited for it.
PerProcess<Log> log_of_this_process;

void flush_at_exit() {
  Log* log = log_of_this_process.find();
  if (log != nullptr && !log->ended.exchange(true)) (void)log->lines.end(kEndMost);
}

// The line that is being written may hold locks of Boost.Log and of sinks. A child that inherits
// them locked could not log. Threads may fork at once, and each lets go of what it holds itself.
thread_local Log* held_still = nullptr;

void before_fork() {
  flush_at_end.before_fork();
  Log* log = log_of_this_process.find();
  if (log != nullptr) log->lines.hold_still(kForkMost);
  held_still = log;
}

void in_parent() {
  if (held_still != nullptr) held_still->lines.go_on();
}

[[maybe_unused]] const int kHoldsStill = pthread_atfork(before_fork, in_parent, nullptr);

}  // namespace

void set_log_level(LogLevel least) noexcept { chosen_level = static_cast<int>(least); }

bool flush_log(milliseconds most) noexcept {
  try {
    Log* log = log_of_this_process.find();
    return log == nullptr || log->lines.flush(most);
  } catch (...) {
    return false;
  }
}

namespace log {

bool wanted(LogLevel level) noexcept { return level >= least_level(LogLevel::debug); }

void hand_over(LogLevel level, std::string text) noexcept {
  try {
    log_of_this_process.get().lines.add(level, std::move(text));
  } catch (...) {
    // No memory for a record must not cost a lock.
  }
}

}  // namespace log
}  // namespace distlock
