#pragma once

#include <atomic>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>

#include "distlock/pinger.h"
#include "pending_releases.h"
#include "protocol.h"
#include "store_clock_history.h"
#include "validity.h"

namespace distlock {

/// What an inspection showed, and when it was made.
struct Look {
  Inspection seen;
  protocol::LocalSpan span;
};

/// The pinger's state, and what DistributedLock asks of it. Its mutex is never held across a call
/// of the store, the clock's wait, or the log.
struct DistributedLockPinger::Impl {
  Impl(Environment given, const PingerOptions& given_options);

  void start_thread();
  void stop() noexcept;

  /// Pings once. Errors: those of Store::ping().
  void ping();
  SteadyTime round() noexcept;

  /// Makes sure that a claim now would be born with time to live (R7, R9), and gives the instant
  /// from which its deadline counts. Errors: those of Store::ping().
  SteadyTime ensure_pinged(const LockOptions& options);

  /// Inspects, and learns about the store's clock from the answer.
  Look look(std::string_view name, Freshness freshness);

  /// Until when a claim that is sent now may be written (R8). Only after ensure_pinged().
  StoreNow cutoff() const;
  bool clock_stepped(const StoreNow& now, const LockOptions& options) const;

  Token new_token() const;
  /// `process:thread:random`
  std::string new_who() const;

  /// From before a claim is sent until its hold is released or pending: as long as any object is
  /// enlisted, the process's ping stays. Errors: `not_applied` if stopped.
  void enlist(Validity& validity);
  /// Starts an enlisted object's validity.
  void begin(Validity& validity, SteadyTime ping_sent);
  void delist(Validity& validity) noexcept;

  const Environment environment;
  const PingerOptions options;
  PendingReleases pending;
  std::stop_source stopping;

 private:
  void run();
  bool ping_noting_failure() noexcept;
  void note_good_ping(const PingRecord& record, const protocol::LocalSpan& span);
  void note_bad_ping(std::string_view error);
  void work_off_pending() noexcept;
  void forget_old_pings() noexcept;
  void farewell() noexcept;

  mutable boost::mutex mutex_;
  std::optional<SteadyTime> last_ping_sent_;  // of those confirmed
  SteadyTime started_;
  bool late_ = false;
  std::uint64_t pings_ = 0;
  StoreClockHistory history_;
  std::unordered_set<Validity*> enlisted_;
  bool stopped_ = false;

  SteadyTime forget_next_;  // the pinging thread's own
  std::stop_source first_round_done_;
  std::atomic<bool> threaded_{false};
  boost::thread thread_;
};

}  // namespace distlock
