#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"

// A child of fork() leaves its parent's objects alone, which is no leak.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

// Ends in the way that its second argument names, while it holds "jobs" in the store of its first.
// exit_test.cpp looks at what is left.
namespace {

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

int run(const std::string& way, const distlock::ConnectionString& config) {
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
  if (way == "fork") return outlives_a_child() ? 0 : 6;
  if (way == "throw") throw std::runtime_error("out of main");
  return 5;
}

}  // namespace

int main(int count, char** words) {
  distlock::set_log_level(distlock::LogLevel::debug);
  return count == 3 ? run(words[2], distlock::ConnectionString{words[1]}) : 2;
}
