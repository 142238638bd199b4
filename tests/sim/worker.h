#pragma once

#include <string>

#include "distlock/distributed_lock.h"
#include "sim/process.h"

namespace distlock::sim {

/// One user of a lock: thinks, tries to get it, acts under it in steps, gives it up – in every way
/// that the library offers.
class Worker {
 public:
  Worker(SimProcess& process, std::string lock_name, Random random);

  /// Until its process is to end.
  void work();

 private:
  void ask_for_news(DistributedLock& lock);
  void hear(LossReason reason);
  void check_told(DistributedLock& lock, bool lost);
  void ask_store(DistributedLock& lock);
  void one_turn(DistributedLock& lock);
  bool get(DistributedLock& lock);
  bool wait_for(DistributedLock& lock);
  void believe(DistributedLock& lock, Time asked);
  void act(DistributedLock& lock);
  void act_once(DistributedLock& lock);
  void claim_anew(DistributedLock& lock);
  void give_up(DistributedLock& lock);
  void in_a_forked_child(DistributedLock& lock);
  void tell_loser(const LockRecord& other, Time asked);
  int slowness() const;
  void think(Time most);
  Time pause_between(Time usual);
  template <class Operation>
  bool tolerate(const Operation& operation);

  SimProcess& process_;
  World& world_;
  const std::string lock_name_;
  Random random_;
  std::optional<Token> believed_;
  Fence fence_ = 0;  // of the hold that it believes in
  Told told_;
  std::stop_token token_;
  bool wants_news_ = false;
  Time asked_{0};
};

}  // namespace distlock::sim
