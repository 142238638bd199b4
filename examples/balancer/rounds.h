#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <stop_token>
#include <string>

#include "chunks.h"
#include "distlock/distributed_lock.h"
#include "ledger.h"
#include "room.h"

namespace balancer {

/// The balancer's loop as mongos has it: each round tries the lock "balancer", and whoever gets it
/// moves some chunks.
class Rounds {
 public:
  Rounds(distlock::DistributedLock& balance_lock, distlock::Clock& clock, std::string process,
         const std::string& folder, Ledger& ledger);

  /// Does rounds until a stop is requested.
  void run(const std::stop_token& stop);

 private:
  void round(const std::stop_token& stop);
  void balance(distlock::Fence fence, int chunks, const std::stop_token& stop);
  void enter_room(distlock::Fence fence);
  void leave_room(distlock::Fence fence);
  bool move_chunk(distlock::Fence fence);
  bool may_act_for(std::chrono::nanoseconds duration);
  void rest(std::chrono::milliseconds duration, const std::stop_token& stop);

  distlock::DistributedLock& balance_lock_;
  distlock::Clock& clock_;
  std::string process_;
  Ledger& ledger_;
  Room room_;
  Chunks chunks_;
  distlock::SteadyTime valid_until_;  ///< As may_act_for() last saw it.
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace balancer
