#include "thread_number.h"

#include <atomic>

namespace distlock {

std::uint64_t this_thread_number() noexcept {
  static std::atomic<std::uint64_t> given{0};
  thread_local const std::uint64_t own = ++given;
  return own;
}

}  // namespace distlock
