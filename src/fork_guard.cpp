#include "fork_guard.h"

#include <pthread.h>

#include <atomic>
#include <string>

#include "distlock/error.h"

namespace distlock {
namespace {

std::atomic<std::uint64_t> generation{0};

[[maybe_unused]] const int kRegistered = pthread_atfork(nullptr, nullptr, [] { ++generation; });

}  // namespace

std::uint64_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

void ForkGuard::check(const char* what) const {
  if (!in_child()) return;
  throw Error(Errc::forked, std::string(what) +
                                " was made before this process was forked and belongs to the "
                                "parent: make a new one here");
}

}  // namespace distlock
