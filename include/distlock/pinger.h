#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/export.h"
#include "distlock/options.h"
#include "distlock/store.h"

namespace distlock {

/// What a process brings to a store: where to keep locks, how to tell time, who it is.
struct DISTLOCK_EXPORT Environment {
  std::shared_ptr<Store> store;
  std::shared_ptr<Clock> clock = host_clock();
  /// `host:unixSeconds:random`, made up where it is empty. Must be of this process alone.
  std::string process;
  /// 64 random bits a call; from the system where it is empty.
  std::function<std::uint64_t()> random;
};

/// Who calls ping_round() and watch_round().
enum class PingerDrive {
  own_threads,  ///< Two threads of the pinger's own.
  caller,       ///< Whoever made it: a simulation, or a program with an event loop.
};

/// One process's identity and keep-alive on one store, shared by all its locks there: one ping an
/// interval however many locks are held (R12).
///
/// Threads: all functions may be called from any thread.
/// Source: the original's DistributedLockPinger, but owned: the last user stops and joins it.
class DISTLOCK_EXPORT DistributedLockPinger {
 public:
  explicit DistributedLockPinger(Environment environment, const PingerOptions& options = {},
                                 PingerDrive drive = PingerDrive::own_threads);
  /// stop().
  ~DistributedLockPinger();
  DistributedLockPinger(const DistributedLockPinger&) = delete;
  DistributedLockPinger& operator=(const DistributedLockPinger&) = delete;

  /// The one of this process for that connection string; opens the store and starts it for the
  /// first who asks. It ends with the last shared_ptr.
  /// Errors: those of open_store().
  static std::shared_ptr<DistributedLockPinger> got(const ConnectionString& connection);

  const std::string& process() const;
  Store& store() const;

  /// One round: ping, work off pending releases, now and then forget old pings. Never throws: what
  /// fails is logged and tried again in the next.
  /// Returns when the next is due.
  SteadyTime ping_round() noexcept;

  /// Ends the threads within milliseconds of the store call that is under way, if any. Removes this
  /// process's ping if nothing is held or pending (R12). No store call after it.
  void stop() noexcept;

 private:
  friend class DistributedLock;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace distlock
