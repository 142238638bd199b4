#include "cli/leaving.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/exit_status.h"
#include "cli/signals.h"
#include "distlock/log.h"

#ifdef DISTLOCK_COVERAGE
extern "C" void __gcov_dump();
#endif

namespace distlock::cli {
namespace {

// The most that the request which ends the sessions may take to be sent. Its answer is not awaited.
constexpr std::chrono::milliseconds kGoodbye{20};
// The longest wait for readers of the library's log.
constexpr std::chrono::milliseconds kLogMost{1000};

std::atomic<bool> thread_left_behind = false;
std::atomic<int> ending_signal = 0;

// Gives what was kept before. A thread that is left behind may bring a store at any time, so
// nothing of this is ever destroyed.
std::shared_ptr<Store> keep(std::shared_ptr<Store> store) {
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::shared_ptr<Store>;
  const std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(kept, std::move(store));
}

// On a thread that may outlast the wait: the process ends with it.
void part_with(std::shared_ptr<Store> store, std::chrono::milliseconds most) try {
  std::promise<void> gone;
  const auto ended = gone.get_future();
  std::thread([store = std::move(store), gone = std::move(gone)]() mutable {
    store.reset();
    gone.set_value();
  }).detach();
  ended.wait_for(most);
} catch (const std::system_error&) {
  // No thread is left: the server ends the sessions after half an hour.
}

void flush_all() {
  (void)flush_log(kLogMost);
  std::cout.flush();
  std::cerr.flush();
#ifdef DISTLOCK_COVERAGE
  __gcov_dump();  // An end without exit() would lose what tools/coverage counts.
#endif
}

// Nobody waits for signals any more, so they may end the process.
void raise_default(int number) {
  // SIGQUIT asks for a core file. A program that gets it by a pipe gets it beyond the limit, too.
  prctl(PR_SET_DUMPABLE, 0);
  signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(number);
}

}  // namespace

void keep_until_left(std::shared_ptr<Store> store) {
  auto earlier = keep(std::move(store));
  if (earlier) part_with(std::move(earlier), {});
}

void leave_a_thread_behind() { thread_left_behind = true; }

void end_by(int number) {
  const auto& all = kEndingSignals;
  const bool ends = std::find(all.begin(), all.end(), number) != all.end();
  if (ends && !is_ignored(number)) ending_signal = number;
}

int leave(int status) {
  const int number = ending_signal;
  const bool by_signal = number != 0 && status == kSignalled + number;
  auto last = keep(nullptr);
  if (!last && !thread_left_behind && !by_signal) return status;
  if (last) part_with(std::move(last), kGoodbye);
  flush_all();
  if (by_signal) raise_default(number);
  _exit(status);
}

}  // namespace distlock::cli
