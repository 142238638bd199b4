#include "at_exit.h"

#include <pthread.h>
#include <sys/single_threaded.h>

#include <cstdlib>

#include "fork_guard.h"

namespace distlock {
namespace {

// Of a fork that led to this process. True also where threads have ended before.
std::atomic<bool> forked_beside_threads = false;
std::atomic<bool> forks_beside_threads = false;

void before_any_fork() { forks_beside_threads = __libc_single_threaded == 0; }

void in_child() { forked_beside_threads = forked_beside_threads || forks_beside_threads; }

[[maybe_unused]] const int kNoted = pthread_atfork(before_any_fork, nullptr, in_child);

}  // namespace

void AtExit::ensure() noexcept {
  const std::uint64_t here = fork_generation();
  if (used_in_.exchange(here) == here) return;
  if (!forked_beside_threads || !registered_) enrol();
}

void AtExit::before_fork() noexcept {
  if (!registered_) enrol();
}

void AtExit::enrol() noexcept {
  if (std::atexit(function_) == 0) registered_ = true;
}

}  // namespace distlock
