#include "line_writer.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

namespace distlock {
namespace {

constexpr std::size_t kBytesMost = std::size_t{1} << 20U;
// Once there is no thread, a line waits so long for another that is being written.
constexpr std::chrono::milliseconds kTurnMost{100};

// Before the thread tries again what it got no memory for.
constexpr std::chrono::milliseconds kMemoryPause{100};

// A condition variable takes no more than fits into nanoseconds.
constexpr std::chrono::milliseconds kWaitMost = std::chrono::hours{24 * 365};

// Whether this thread is writing a line: then it cannot wait for the end of that.
thread_local bool writing = false;

/// The program's signals are for its own threads. A new thread inherits what is blocked here.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// A reader that has gone must end no program whose own thread writes: its locks would stay.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec none{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &none) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  bool was_pending_ = false;
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

void LineWriter::add(LogLevel level, std::string text) {
  Lock lock(shared_->mutex);
  if (shared_->stage == Stage::given_up) return;
  if (shared_->bytes_waiting > kBytesMost) {
    ++shared_->dropped;
    return;
  }
  shared_->tell_dropped();
  shared_->push({level, std::move(text)});
  if (shared_->stage == Stage::ended) return shared_->write_here(lock);
  start_thread();
  shared_->changed.notify_all();
}

void LineWriter::drop() noexcept {
  {
    const Lock lock(shared_->mutex);
    ++shared_->dropped;
  }
  shared_->changed.notify_all();
}

void LineWriter::start_thread() {
  if (thread_.joinable()) return;
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([shared = shared_] {
      pthread_setname_np(pthread_self(), "distlock-lines");
      shared->run();
    });
  } catch (const std::system_error&) {
    // No thread is to be had: the lines wait for the next that is added, or for a flush or the end.
  }
}

void LineWriter::write_without_thread(Lock& lock) {
  if (shared_->stage != Stage::open || !shared_->has_work()) return;
  start_thread();
  if (thread_.joinable()) return;
  shared_->tell_dropped();
  shared_->write_here(lock);
}

bool LineWriter::flush(std::chrono::milliseconds most) {
  if (writing) return false;
  most = std::clamp(most, std::chrono::milliseconds{0}, kWaitMost);
  Lock lock(shared_->mutex);
  // So that the number of those that were dropped is one of the lines to wait for.
  if (shared_->stage == Stage::open) (void)shared_->told_dropped();
  if (most.count() > 0) write_without_thread(lock);
  const std::uint64_t last = shared_->added;
  return shared_->changed.wait_for(lock, most, [&] { return shared_->written >= last; });
}

bool LineWriter::end(std::chrono::milliseconds most) {
  std::thread thread;
  bool idle = false;
  {
    Lock lock(shared_->mutex);
    if (!writing && most.count() > 0) write_without_thread(lock);
    const auto all_written = [&] { return !shared_->busy && !shared_->has_work(); };
    idle = !writing && shared_->changed.wait_for(lock, most, all_written);
    if (shared_->stage == Stage::open) shared_->stage = idle ? Stage::ended : Stage::given_up;
    thread = std::move(thread_);
  }
  shared_->changed.notify_all();
  if (!thread.joinable()) return idle;
  if (idle) {
    thread.join();
  } else {
    thread.detach();
  }
  return idle;
}

void LineWriter::hold_still(std::chrono::milliseconds most) {
  Lock lock(shared_->mutex);
  ++shared_->still;
  if (!writing) shared_->changed.wait_for(lock, most, [&] { return !shared_->busy; });
  lock.release();
}

void LineWriter::go_on() {
  {
    const Lock lock(shared_->mutex, std::adopt_lock);
    --shared_->still;
  }
  shared_->changed.notify_all();
}

void LineWriter::Shared::run() {
  Lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] {
      // Busy: somebody writes a line for whom there was no thread before.
      return still == 0 && (stage != Stage::open || (!busy && has_work()));
    });
    if (stage != Stage::open) return;
    if (waiting.empty() && !told_dropped()) {
      changed.wait_for(lock, kMemoryPause);
      continue;
    }
    if (!write_next(lock)) changed.wait_for(lock, kMemoryPause);
  }
}

void LineWriter::Shared::push(Line line) {
  const std::size_t bytes = line.text.size() + sizeof line;
  waiting.push_back(std::move(line));
  bytes_waiting += bytes;
  ++added;
}

void LineWriter::Shared::tell_dropped() {
  if (dropped == 0) return;
  push({LogLevel::warning,
        speaker + ": " + std::to_string(dropped) +
            " lines were dropped: nobody read them in time, or memory was short"});
  dropped = 0;
}

bool LineWriter::Shared::told_dropped() noexcept {
  try {
    tell_dropped();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool LineWriter::Shared::written_whole(const Line& line) const noexcept {
  try {
    write(line.level, line.text);
    return true;
  } catch (...) {
    return false;
  }
}

bool LineWriter::Shared::write_next(Lock& lock) {
  const Line line = std::move(waiting.front());
  waiting.pop_front();
  bytes_waiting -= line.text.size() + sizeof line;
  busy = true;
  lock.unlock();
  writing = true;
  const bool whole = written_whole(line);
  writing = false;
  lock.lock();
  if (!whole) ++dropped;
  busy = false;
  ++written;
  changed.notify_all();
  return whole;
}

void LineWriter::Shared::write_here(Lock& lock) {
  const NoPipeSignal no_signal;
  // A line that a write itself adds waits for the end of that write.
  while (!waiting.empty() && !writing) {
    if (!changed.wait_for(lock, kTurnMost, [&] { return !busy && still == 0; })) return;
    if (!waiting.empty()) write_next(lock);
  }
}

}  // namespace distlock
