// A fork waits for what other threads do to AddressSanitizer's memory. Until LLVM 17 it did not,
// and a child waited for ever where such a thread had been at it. Functions of its own, which are
// not public.

#if defined(__clang__) && __clang_major__ < 17
#if __has_feature(address_sanitizer)
#include <pthread.h>

#include <utility>

namespace __lsan {          // NOLINT(bugprone-reserved-identifier)
void LockThreadRegistry();  // NOLINT(readability-identifier-naming)
void UnlockThreadRegistry();
void LockAllocator();
void UnlockAllocator();
}  // namespace __lsan

namespace __sanitizer {  // NOLINT(bugprone-reserved-identifier)
void StackDepotLockAll();
void StackDepotUnlockAll();
}  // namespace __sanitizer

namespace distlock::testing {
inline bool forks_are_locked = false;
}  // namespace distlock::testing

namespace {

void lock_all() {
  __lsan::LockThreadRegistry();
  __lsan::LockAllocator();
  __sanitizer::StackDepotLockAll();
}

void unlock_all() {
  __sanitizer::StackDepotUnlockAll();
  __lsan::UnlockAllocator();
  __lsan::UnlockThreadRegistry();
}

// Before others register theirs: these may want memory before the lock, and after it. A program has
// this file once by itself and once by each library of tests, and the locks can be taken only once.
__attribute__((constructor(101))) void lock_at_forks() {
  if (std::exchange(distlock::testing::forks_are_locked, true)) return;
  pthread_atfork(lock_all, unlock_all, unlock_all);
}

}  // namespace
#endif
#endif
