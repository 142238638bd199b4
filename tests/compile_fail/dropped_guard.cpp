#include "distlock/distributed_lock.h"

// A guard without a name ends at once. NAME is empty, or what gives the guard a name; GUARD makes
// it.
void work(distlock::DistributedLock& lock) {
  using namespace std::chrono_literals;
  NAME distlock::GUARD;
}
