#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distlock/distributed_lock.h"

namespace faults {

struct Command {
  std::string id;
  std::string verb;
  std::vector<std::string> words;
};

/// One lock and the thread that does what is commanded about it.
class LockThread {
 public:
  LockThread(const std::shared_ptr<distlock::DistributedLockPinger>& pinger,
             const std::string& name, const distlock::LockOptions& options);
  void take(Command command);

 private:
  void work(const std::stop_token& stop);
  void obey(const Command& command, const std::stop_token& stop);
  void attempt(const Command& command, const std::stop_token& stop);
  void spin(const Command& command, const std::stop_token& stop);

  std::shared_ptr<distlock::DistributedLockPinger> pinger_;
  distlock::LockOptions options_;
  distlock::DistributedLock lock_;
  std::mutex mutex_;
  std::condition_variable_any come_;
  std::deque<Command> commands_;
  std::jthread thread_;
};

}  // namespace faults
