#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/log.h"

// A child of fork() leaves its parent's objects alone, which is no leak.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

// Ends in the way that its second argument names, while it holds "jobs" in the store of its first.
// exit_test.cpp looks at what is left.
namespace {

namespace fs = std::filesystem;

bool stopped(const std::function<void()>& call) {
  try {
    call();
    return false;
  } catch (const distlock::Error& error) {
    return error.errc() == distlock::Errc::stopped;
  }
}

/// An object that claims a lock when the threads that would keep it have ended.
struct Late {
  ~Late() {
    if (lock == nullptr) return;
    if (!stopped([&] { (void)lock->lock_try("late"); })) std::_Exit(8);
    if (!stopped([&] { (void)lock->try_lock_for(std::chrono::minutes{10}); })) std::_Exit(9);
  }
  distlock::DistributedLock* lock = nullptr;
} late;

// Destroyed after everything that main() made.
std::optional<distlock::DistributedLock> static_lock;

/// Whether the hold outlives a child that ends as any program does, with copies of all static
/// objects.
bool outlives_a_child() {
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 && static_lock->still_held();
}

auto threads() { return std::distance(fs::directory_iterator("/proc/self/task"), {}); }

/// An object that callbacks may use. A thread that was joined is in the list of threads for a
/// moment still.
struct Used {
  ~Used() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (threads() > 1 && std::chrono::steady_clock::now() < until) sched_yield();
    if (threads() > 1) std::_Exit(7);
  }
};

/// Of a program that forks before its first lock, as a daemon does.
int run_in_child(const distlock::ConnectionString& config) {
  const pid_t child = fork();
  if (child == 0) {
    static const Used used;
    auto& leaked = *new distlock::DistributedLock(config, "jobs");
    std::exit(leaked.lock_try("until the end") ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int run(const std::string& way, const distlock::ConnectionString& config) {
  if (way == "daemon") return run_in_child(config);
  static_lock.emplace(config, "jobs");
  if (!static_lock->lock_try("until the end")) return 3;
  std::cout << "holds" << std::endl;
  if (way == "return") return 0;
  if (way == "exit") std::exit(0);
  if (way == "quick_exit") std::quick_exit(0);
  if (way == "leak") {
    new distlock::DistributedLock(config, "leaked");
    static auto& leaked = *new distlock::DistributedLock(config, "leaked, too");
    return leaked.lock_try("x") ? 0 : 4;
  }
  if (way == "late") {
    late.lock = new distlock::DistributedLock(config, "late");
    return late.lock->lock_try("x") && late.lock->unlock() == distlock::UnlockResult::released ? 0
                                                                                               : 4;
  }
  if (way == "fork") return outlives_a_child() ? 0 : 6;
  if (way == "throw") throw std::runtime_error("out of main");
  return 5;
}

}  // namespace

int main(int count, char** words) {
  distlock::set_log_level(distlock::LogLevel::debug);
  return count == 3 ? run(words[2], distlock::ConnectionString{words[1]}) : 2;
}
