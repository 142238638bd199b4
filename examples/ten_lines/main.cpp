#include <distlock/distributed_lock.h>
#include <distlock/log.h>

#include <iostream>

int main(int argc, char** argv) {
  distlock::set_log_level(distlock::LogLevel::warning);
  const distlock::ConnectionString config(argc > 1 ? argv[1] : "sqlite:locks.db");
  distlock::DistributedLock balance_lock(config, "balancer");

  const distlock::dist_lock_try lk(&balance_lock, "doing balance round");
  if (!lk.got()) {
    std::cout << "busy: " << lk.other().process << " is " << lk.other().why << '\n';
    return 1;
  }
  std::cout << "held, with fence " << lk.fence() << '\n';
  return 0;
}
