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
  void hear(DistributedLock& lock, LossReason reason);
  bool is_of_next_hold(DistributedLock& lock) const;
  void check_told(DistributedLock& lock, bool lost);
  void ask_store(DistributedLock& lock);
  void one_turn(DistributedLock& lock);
  bool get(DistributedLock& lock);
  bool wait_for(DistributedLock& lock);
  void note_asking();
  bool ended_on_the_way(const DistributedLock& lock) const;
  void believe(DistributedLock& lock);
  void act(DistributedLock& lock);
  void act_once(DistributedLock& lock);
  void claim_anew(DistributedLock& lock);
  void give_up(DistributedLock& lock);
  void in_a_forked_child(DistributedLock& lock);
  void tell_loser(const LockRecord& other);
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
  bool told_of_next_ = false;
  std::stop_token token_;
  bool wants_news_ = false;
  Time asked_{0};
  int pauses_before_ = 0;
};

}  // namespace distlock::sim
