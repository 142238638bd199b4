// Somebody else's program: sees nothing but what was installed.

#include <distlock/distributed_lock.h>
#include <distlock/stores.h>

#include <iostream>

int main() {
  const auto pinger = std::make_shared<distlock::DistributedLockPinger>(
      distlock::Environment{.store = distlock::make_memory_store()});
  distlock::DistributedLock mine(pinger, "consumer");
  distlock::DistributedLock theirs(pinger, "consumer");

  const distlock::dist_lock_try got(&mine, "being built outside the tree");
  const distlock::dist_lock_try busy(&theirs, "coming too late");
  if (!got || busy || busy.other().why != "being built outside the tree") return 1;
  std::cout << "held with fence " << got.fence() << '\n';
  return 0;
}
