#pragma once

#include <atomic>
#include <boost/thread/mutex.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "distlock/members.h"
#include "distlock/pinger.h"
#include "fork_guard.h"
#include "limit.h"
#include "local_span.h"
#include "pinger/chores.h"
#include "pinger/holds.h"
#include "pinger/lobby.h"
#include "pinger/overview.h"
#include "pinger/own_thread.h"
#include "pinger/pending_releases.h"
#include "pinger/ringer.h"
#include "protocol/protocol.h"
#include "protocol/store_clock_history.h"

// The wing src/pinger/: one process's keep-alive on one store. A thread of rounds pings and does
// the chores, and a second watches deadlines. A third rings for waiters, and gives up places that
// waits have left behind. More threads make announcements. Lock objects meet them in Holds.
namespace distlock {

/// An inspection, and when it was made.
struct TimedInspection {
  Inspection seen;
  LocalSpan span;
};

/// The pinger's state, and what DistributedLock asks of it. Its mutex is never held across a call
/// of the store, the clock's wait, or the log. A thread that holds it takes no other.
class DistributedLockPinger::Session {
 public:
  Session(Environment given, const PingerOptions& given_options, PingerDrive given_drive);

  /// The owner of a pinger with threads. They end with its last copy, and the last of them to end,
  /// or the owner, destroys the pinger. So it may be one of the threads that lets go of it.
  static std::shared_ptr<Session> owner_of(std::shared_ptr<Session> pinger);
  /// Errors: `not_applied` if there is no thread to be had. Nothing was sent then.
  static void start_threads(const std::shared_ptr<Session>& pinger);
  void stop() noexcept;
  /// Ends the watch and the announcer, too. For the end of the program, and of the object.
  void join_threads() noexcept;

  /// Pings once. Errors: those of Store::ping().
  void ping();
  /// For a lock: a stop may have come since it asked. Then gives up what is pending, as a round
  /// does, while `limit` is not over: others believe in a place that is older than a ping (R22).
  /// Errors: those of ping() and check_usable().
  void ping_unless_stopped(const Limit& limit);
  /// A hold that was just granted by members of a mirrored store may be protected by old pings:
  /// they were away until now, and the next ping may come too late (M5, R7).
  void ping_if_short(const Hold& granted, const Limit& limit) noexcept;
  SteadyTime round() noexcept;
  /// Rings for those whose turn has come, and gives one place up that a wait has left behind. Then
  /// ends a bell that is quiet.
  Ringer::Due ring_round() noexcept;
  /// A ring round, which is due now, is to give that place up: its wait has no time for it (R15).
  void leave_place_behind(std::string_view lock, const Token& ticket) noexcept;

  /// Makes sure that a claim now would be born with time to live (R7, R9). A claim with `bases`, of
  /// a mirrored store, goes to these members: so a majority of them must have been pinged. Pings no
  /// more where `limit` is over. Where there was no ping then: false after a stop, else the error
  /// `not_applied`. Errors: also those of ping_unless_stopped().
  bool ensure_pinged(std::chrono::nanoseconds validity, const Limit& limit,
                     const std::vector<MemberBasis>& bases = {});
  /// From now on `claim_validity` counts from the last confirmed ping, and from each later one. For
  /// a claim that is sent after it, of an enlisted hold. Only after ensure_pinged().
  void begin_claim(Hold& hold);

  /// Errors: `forked`, `stopped`.
  void check_usable() const;

  /// Inspects, and learns about the store's clock from the answer.
  TimedInspection look(std::string_view name, Freshness freshness);

  /// The rule for a release that is sent now, of a lock that asks for `asked`.
  ReleaseRule rule_now(ReleaseRule asked) const;
  /// As Ringer::release(). A stop remembers that quick releases may be undone.
  Freed release_and_ring(const std::string& name, const Token& ts, ReleaseRule rule);

  /// Frees the hold that was seen if this process states it, on each member that carries it, and no
  /// lock object knows of it: a quick release was undone (R3). Where that fails it is a pending
  /// release. Where `limit` is over, a round finds it (R8), or takeover ends it after a stop.
  /// True: it was freed.
  bool free_if_stray(const Inspection& look, const Limit& limit);

  /// Works off now, after a stop, what is pending of `lock`: no round comes any more. Begins no
  /// call where `limit` is over: then it is left to takeover.
  void free_if_stopped(std::string_view lock, const Limit& limit) noexcept;

  /// `process:thread` of the thread of this process that holds validly by that `ts`, if one does.
  std::optional<std::string> holder_of(const Token& ts) const;

  /// As Overviews::GivenUp, of what the threads of this process have now.
  std::function<bool(const Token& ts)> given_up() const;

  /// Until when a claim that is sent now may be written (R8). Only after ensure_pinged().
  StoreNow cutoff() const;
  /// Whether the clock that an inspection was made by stepped within the lock's window (R5). Of a
  /// mirrored store: an inspection of one member.
  bool clock_stepped(const Inspection& seen, const LockOptions& options);

  PingerStats stats() const;

  const Environment environment;
  const PingerOptions options;
  const PingerDrive drive;
  const ForkGuard fork_guard;
  PendingReleases pending;
  Lobby lobby;
  Ringer ringer;
  Holds holds;
  Chores chores;
  Overviews overviews;
  std::stop_source stopping;

 private:
  void run_pings();
  void run_watch();
  void run_ringer();
  bool ping_noting_failure() noexcept;
  /// Whether a ping of that time or later moved a deadline, though too few members confirmed it.
  bool some_member_confirmed(SteadyTime since) noexcept;
  PingHealth health_at(SteadyTime now) const;
  void note_member(const Token& member, const StoreNow& now, const SteadySpan& span);
  void extend_holds(const LocalSpan& span, SteadyTime begun);
  void extend_by_members(SteadyTime begun);
  std::vector<std::string> stepped_clocks(const std::vector<MemberPing>& pings, SteadyTime begun);
  bool note_good_ping(const PingRecord& record, const LocalSpan& span);
  void note_bad_ping(std::string_view error);
  void log_losses();
  std::optional<SteadyTime> last_ping_for(const std::vector<MemberBasis>& bases) const;
  void farewell();
  void free_what_was_undone();

  // Guarded by `mutex_`, down to `member_histories_`.
  mutable boost::mutex mutex_;
  std::optional<SteadyTime> last_ping_sent_;  // of those confirmed
  SteadyTime started_;
  bool late_ = false;
  PingHealth health_;
  StoreClockHistory history_;
  std::map<Token, StoreClockHistory> member_histories_;  // of a mirrored store, beside the other

  std::once_flag stop_once_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> released_quickly_{false};
  std::stop_source first_ping_done_;  // A latch: for those who wait for the first ping.
  std::stop_source watch_stopping_;
  OwnThread ping_thread_;
  OwnThread watch_thread_;
  OwnThread ring_thread_;
};

using Session = DistributedLockPinger::Session;

}  // namespace distlock
