#include <distlock/distributed_lock.h>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  const distlock::ConnectionString store(argc > 1 ? argv[1] : "sqlite:locks.db");
  distlock::DistributedLock lock(store, "nightly", {.takeover_after = 30s});

  const distlock::dist_lock held(lock, 5s, "nightly backup");
  if (!held) {
    const distlock::LockRecord other = held.other();
    std::cout << "busy: " << (other.taken() ? other.process + " is at it" : "not in time") << '\n';
    return 1;
  }
  std::cout << "held, with fence " << held.fence() << '\n';
  return 0;
}
