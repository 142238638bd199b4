#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/export.h"
#include "distlock/options.h"
#include "distlock/record.h"
#include "distlock/store.h"

namespace distlock {

/// The surroundings of a pinger: its store, its clock, its identity.
struct DISTLOCK_EXPORT Environment {
  std::shared_ptr<Store> store = {};
  std::shared_ptr<Clock> clock = host_clock();
  /// `host:unixSeconds:random`; the library makes one up if it is empty. No other process may have
  /// it. The rules of a lock's name count: UTF-8 without a NUL, at most 1000 bytes.
  std::string process = {};
  /// Gives 64 random bits a call. By default the system's.
  std::function<std::uint64_t()> random = {};
  /// For people, kept in `who`: which process of the host, and of which user. If it and `process`
  /// are empty, the library writes `pid4711/ann`. UTF-8 without a NUL, at most 1000 bytes.
  std::string label = {};
  /// Holds of other processes in whose commands this process is: they may last until it ends (R22).
  /// If it and `process` are empty, the library takes those of each `distlock run` in whose command
  /// this process is.
  std::vector<Token> outer_holds = {};
};

/// The caller of ping_round(), watch_round() and ring_round().
enum class PingerDrive {
  own_threads,  ///< Five threads of the pinger's own, and more while callbacks of locks block.
  caller,       ///< Its maker: a simulation, or a program with an event loop.
};

/// The figures of a pinger.
struct PingerStats {
  PingHealth health;
  bool late = false;  ///< No confirmed ping for more than 10 intervals.
  std::size_t holds = 0;
  std::size_t pending_releases = 0;
};

/// One process's identity and keep-alive on one store, shared by all its locks there: one ping an
/// interval however many locks are held (R12).
///
/// Threads: all functions may be called from any thread.
/// Source: the original's DistributedLockPinger, but owned: the last user stops and joins it.
class DISTLOCK_EXPORT DistributedLockPinger {
 public:
  /// Errors: `invalid_argument`; `not_applied` if the system has no threads for it.
  explicit DistributedLockPinger(Environment environment, const PingerOptions& options = {},
                                 PingerDrive drive = PingerDrive::own_threads);
  /// stop().
  ~DistributedLockPinger();
  DistributedLockPinger(const DistributedLockPinger&) = delete;
  DistributedLockPinger& operator=(const DistributedLockPinger&) = delete;

  /// Gives this process's pinger for that connection string and those options. The first caller
  /// opens the store and starts the pinger, which ends with the last shared_ptr.
  /// Source: the original's name.
  /// Errors: those of open_store() and of the constructor.
  static std::shared_ptr<DistributedLockPinger> got(const ConnectionString& connection,
                                                    const PingerOptions& options = {},
                                                    const StoreOptions& store_options = {});

  const std::string& process() const;
  Store& store() const;

  /// One round: ping, see whether the store still has this process's holds, work off pending
  /// releases, now and then forget old pings. A failure is logged, and tried again in the next
  /// round. Returns when the next round is due.
  SteadyTime ping_round() noexcept;

  /// Announces the deadlines that have passed and the holds at risk (R9). Calls no store.
  /// Returns when the next announcement is due. A new hold may be due earlier.
  SteadyTime watch_round() noexcept;

  /// Rings for the waiters whose turn has come at a lock that this process has freed and that is
  /// still free (R19). Gives one place in line up that a wait had no time to give up (R17). Returns
  /// when that is due again. A release, and the end of a wait, may make it due earlier. Nothing is
  /// due any more once stop() has been called.
  SteadyTime ring_round() noexcept;

  /// Errors: `forked`.
  PingerStats stats() const;

  /// Ends the pings within milliseconds of the store call that is under way, if any. Removes this
  /// process's ping if nothing is held or pending (R12). Where others wait for a lock that was just
  /// freed, sees to it that they are told (R19): some milliseconds where the first of them is
  /// there, a second at most. After it only releases call the store: an unlock(), or of a claim
  /// that was under way. The watch over the deadline of what is held goes on.
  void stop() noexcept;

  class Session;  // of the library

 private:
  friend class DistributedLock;
  std::shared_ptr<Session> session_;
};

}  // namespace distlock
