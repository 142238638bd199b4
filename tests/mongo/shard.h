#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "mongo/server.h"

namespace distlock::testing {

/// A shard's server with MongoDB's own lock manager, and the config server where it takes its locks
/// (tools/with-mongod cluster).
class Shard {
 public:
  Shard();
  /// Lets go what this object has made wait, and brings back what it has killed.
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  ConnectionString connection() const { return config_.connection(); }
  const Server& config() const { return config_; }

  /// The name of the lock that create() of this collection takes.
  static std::string lock_of(const std::string& collection) { return "beside." + collection; }

  /// Begins an operation of MongoDB's own that locks the collection, makes it unless it is there,
  /// and unlocks. Gives whether it succeeded.
  std::future<bool> create(const std::string& collection) const;
  /// Whether it is there, as the config server says.
  bool has(const std::string& collection) const;

  /// From now on its operations stand still with their locks held, until let_go().
  void hold_on();
  void let_go();

  /// Waits until an operation has its database's lock, and so asks for the collection's next.
  void wait_for_database_lock() const;
  /// Waits until it has tried a few times to write a lock.
  void wait_for_attempts() const;

  void kill();
  /// Starts it anew after kill(), and waits until it works again.
  void bring_back();

  /// One change of a lock's state, in the order in which the config server made them.
  struct Change {
    int state = 0;
    std::string process;  ///< Empty if it stays what it was.
  };
  std::vector<Change> changes_of(const std::string& lock) const;

 private:
  std::string fail_point(const std::string& mode) const;

  Server config_;
  bool killed_ = false;
};

/// The shard's process id in config.locks and config.lockpings.
inline constexpr std::string_view kShard = "distlock-shard";

}  // namespace distlock::testing
