#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "distlock/log.h"

namespace distlock {

/// Writes lines on a thread of its own, in order, so that a thread that adds a line never waits for
/// a reader. Lines that come while more than a megabyte waits are dropped, and their number
/// follows.
///
/// Threads: all functions may be called concurrently.
class LineWriter {
 public:
  using Write = std::function<void(LogLevel, const std::string&)>;

  /// A line for which `write` throws counts as dropped. `speaker`: the name before the number of
  /// dropped lines.
  LineWriter(std::string speaker, Write write)
      : shared_(std::make_shared<Shared>(std::move(speaker), std::move(write))) {}
  /// Waits for nothing: a write that blocks goes on alone.
  ~LineWriter() { (void)end(std::chrono::milliseconds{0}); }
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Waits for no reader until end().
  void add(LogLevel level, std::string text);
  /// A line that could not be added counts as dropped.
  void drop() noexcept;

  /// Waits at most that long for all lines that were added so far, and for the number of those that
  /// were dropped. Gives whether all were written.
  /// On the writing thread it is false at once. Where no thread is to be had, the caller writes, as
  /// long as that takes; so at the end.
  bool flush(std::chrono::milliseconds most);

  /// Waits at most that long until nothing is left, and ends the thread. A caller that adds a line
  /// from then on writes it itself. If the time was too short, what is left and what comes is
  /// dropped.
  bool end(std::chrono::milliseconds most);

  /// Before a fork: until the same thread's go_on() nothing is written or added. Waits at most that
  /// long for the line that is being written, and for other threads that hold still. The child must
  /// not use its copy of this object.
  void hold_still(std::chrono::milliseconds most);
  void go_on();

 private:
  struct Line {
    LogLevel level;
    std::string text;
  };
  enum class Stage { open, ended, given_up };
  using Lock = std::unique_lock<std::mutex>;

  /// Outlives the object if a write blocks for ever.
  struct Shared {
    Shared(std::string name, Write given) : speaker(std::move(name)), write(std::move(given)) {}

    void run();
    void push(Line line);
    void tell_dropped();
    /// False for want of memory.
    bool told_dropped() noexcept;
    bool has_work() const { return !waiting.empty() || dropped > 0; }
    /// False if the write failed.
    bool write_next(Lock& lock);
    bool written_whole(const Line& line) const noexcept;
    void write_here(Lock& lock);

    const std::string speaker;
    const Write write;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Line> waiting;
    std::size_t bytes_waiting = 0;
    std::uint64_t dropped = 0;
    std::uint64_t added = 0;
    std::uint64_t written = 0;
    bool busy = false;  ///< A line is being written.
    int still = 0;      ///< So many threads hold it still, or are about to.
    Stage stage = Stage::open;
  };

  void start_thread();
  void write_without_thread(Lock& lock);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;  ///< Under the mutex of `shared_`.
};

}  // namespace distlock
