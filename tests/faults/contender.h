#pragma once

#include <map>
#include <random>

#include "count_file.h"
#include "distlock/distributed_lock.h"

namespace faults {

/// The locks that everybody fights for.
inline constexpr int kLocks = 5;
std::string lock_name(int number);
distlock::LockOptions contended_options();

/// One thread of the torture: does everything that a program can do with locks, at random, and
/// tells of it.
class Contender {
 public:
  /// `folder`: of the files that are counted up under the locks.
  Contender(std::shared_ptr<distlock::DistributedLockPinger> pinger, std::string name,
            const std::string& folder, unsigned seed);
  void run(const std::stop_token& stop);

 private:
  struct Contended {
    std::unique_ptr<distlock::DistributedLock> lock;
    std::unique_ptr<CountFile> count;
  };

  int random(int least, int most);
  void make_lock(int number);
  void deed(const std::stop_token& stop);
  void work(Contended& contended, const std::stop_token& stop);
  void count(Contended& contended, distlock::Fence fence, const std::stop_token& stop);
  void break_hold(const std::string& lock);

  std::shared_ptr<distlock::DistributedLockPinger> pinger_;
  std::string name_;
  std::minstd_rand random_;
  std::map<int, Contended> contended_;
};

}  // namespace faults
