#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/error.h"
#include "distlock/export.h"
#include "distlock/guard.h"
#include "distlock/loss.h"
#include "distlock/options.h"
#include "distlock/pinger.h"
#include "distlock/record.h"
#include "distlock/wait_report.h"

namespace distlock {

/// The result of unlock().
enum class UnlockResult {
  released,  ///< The lock is free, or was free and claimed by another since. With
             ///< ReleaseRule::quick, a failure of the store right after it may undo that. Or the
             ///< hold went on to another thread of this process (LockOptions::pass_rule).
  not_ours,  ///< It was not held by this object, or not any more. Nothing was changed.
  pending,   ///< The store did not answer. The pinger goes on trying while it lives; after that
             ///< the lock is free for takeover once takeover_after has passed.
};

/// A named lock that many processes compete for. START HERE.
///
/// A hold can be lost: a process that is paused for longer than LockOptions::takeover_after is
/// taken over. Ask valid_until() before work that must not run twice. Better: hand fence() to the
/// resource, and let the resource refuse any smaller fence (docs/guarantees.md).
///
/// The object cannot be moved, because guards, callbacks and other threads point to it. Keep it in
/// a std::unique_ptr, std::optional or std::map where it must be made later or handed on.
///
/// Threads: all functions may be called from any thread. One object is one contender: from one
/// thread's lock to its unlock other threads find it busy, also after the hold was lost. It meets
/// Lockable and TimedLockable.
class DISTLOCK_EXPORT DistributedLock {
 public:
  /// A lock of the store that `config` names. Locks of one string with one `takeover_after` share a
  /// pinger; ping interval and the limit of a store call fit it (PingerOptions::fitting()).
  /// Errors: `invalid_argument` (a name that is empty, longer than 1,000 bytes, not UTF-8 or has a
  /// NUL; options out of range), and those of open_store().
  DistributedLock(const ConnectionString& config, std::string name, const LockOptions& options);
  /// As above. `takeover_minutes`, at least 1: how long a holder must be silent, in the original's
  /// whole-minute comparison (LockOptions::taking_over_after_minutes()).
  DistributedLock(const ConnectionString& config, std::string name, int takeover_minutes = 15);

  /// For a program that brings its own store, clock or identity.
  /// Errors: `invalid_argument`, also if the options leave a holder too little time between its
  /// ping and its deadline. The message shows the sum.
  DistributedLock(std::shared_ptr<DistributedLockPinger> pinger, std::string name,
                  const LockOptions& options = {});

  /// unlock(), if held. Runs callbacks that are due, and waits for a callback that runs on another
  /// thread. No callback begins after the destructor.
  ~DistributedLock();
  DistributedLock(const DistributedLock&) = delete;
  DistributedLock& operator=(const DistributedLock&) = delete;

  /// Tries once, without waiting for the holder. `why` is kept in the record for people to read. An
  /// empty `why`, here and below, means LockOptions::why.
  /// Returns true if this object now holds the lock. Otherwise `*other`, if given, is
  ///
  /// | in the way                                    | `*other`                                 |
  /// | a hold of another object                      | its record                               |
  /// | quicker claims of other objects, three times  | the record as last seen, perhaps free    |
  /// | another thread that holds by this object      | this object's record                     |
  /// | another thread that acquires by this object   | a record without a `ts`                  |
  ///
  /// Errors: `not_applied`, `permission_denied`, `bad_record`, `store_replaced`: nothing is held.
  /// `outcome_unknown`: this object holds nothing, and the pinger frees a hold that the store may
  /// have granted. `already_held`: by this very thread. `stopped`, `forked`. `invalid_argument`:
  /// `why` is not UTF-8 or has a NUL. Source: the original's lock_try(); R2, R5 to R8, R14.
  [[nodiscard]] bool lock_try(std::string_view why, LockRecord* other = nullptr);

  /// Gives the lock up: up to 3 attempts, with 2 s and 4 s between them (R11). Touches nothing but
  /// this object's own hold (R3). An unlock of nothing is `not_ours`.
  UnlockResult unlock() noexcept;
  /// As unlock(), but only if the present hold is `ts`: a late unlock frees no later hold (R3).
  /// This object may have passed that hold on and got it again (R21). Then only its thread may say
  /// so.
  UnlockResult unlock(const Token& ts) noexcept;
  /// As unlock(), but only if the present hold has the `ts` and the fence of `hold`, which no other
  /// hold has.
  UnlockResult unlock(const LockRecord& hold) noexcept;

  /// Waits until the lock is held.
  /// Errors: those of lock_try(), of which store failures come only after
  /// LockOptions::store_patience, and `store_replaced` at the next look: open the store anew and
  /// wait there.
  void lock();
  /// As lock(), but gives up (false) at a stop. `other`: as lock_try(), and by each look before.
  [[nodiscard]] bool lock(const std::stop_token& stop, std::string_view why = {},
                          LockRecord* other = nullptr);
  [[nodiscard]] bool try_lock() { return lock_try({}); }

  /// Sets the callback that is told of each wait, from the next one on. It is told once of the lock
  /// as seen at the first look from half a second on, and once that the store fails. It runs on the
  /// waiting thread, within the call that waits. A turn that comes while it runs may be lost, and
  /// threads behind it in its process wait for it. An exception of it ends the wait.
  void on_waiting(std::function<void(const WaitReport&)> callback);

  /// As lock(), but gives up (false) after `limit`, or when a stop is requested. No further call of
  /// the store begins then. 0 is one lock_try().
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit,
                                  const std::stop_token& stop = {}, std::string_view why = {},
                                  LockRecord* other = nullptr) {
    return wait_for(bounded_wait(limit), stop, why, other);
  }
  /// As try_lock_for(). The time left is taken from `Clk` once, at the call.
  template <class Clk, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clk, Duration>& deadline,
                                    const std::stop_token& stop = {}, std::string_view why = {},
                                    LockRecord* other = nullptr) {
    return wait_for(bounded_wait(deadline, Clk::now()), stop, why, other);
  }

  const std::string& name() const;
  const LockOptions& options() const;

  /// Claimed, not unlocked, and valid_until() has not passed, by this machine's clock. If a virtual
  /// machine is paused and its clock does not notice, this stays true until the next ping round
  /// finds the hold gone. still_held() asks at once.
  bool held() const;

  /// The record as it was claimed. Errors: `lock_lost` if nothing was claimed or it was unlocked.
  LockRecord record() const;

  /// The fencing token of the hold (R10). Errors: as record().
  Fence fence() const { return record().fence; }

  /// The deadline: until then this object may act on its hold without asking (R9). It counts from
  /// before the last confirmed ping was sent, and pings move it on. A deadline that has passed is
  /// final. The distant past if nothing is held.
  SteadyTime valid_until() const;

  /// The time until then, by this process's clock: 0 if nothing is held or the time is over.
  std::chrono::nanoseconds remaining() const;

  /// Throws unless held(). Cheap enough for every round of a loop: no store call, no lock.
  /// Errors: `lock_lost` if nothing is held or valid_until() has passed; `forked`.
  void check() const;

  /// Asks the store, with a fresh read. True: at some moment during the call the store's document
  /// carried this hold, and the deadline has not passed now. False is final, as a loss is.
  /// Errors: those of a read. After an error nothing new is known, and valid_until() still counts.
  [[nodiscard]] bool still_held();

  /// Claims anew, with a new `ts` and fence, from exactly this object's own last hold. For a hold
  /// that ran out, before another process has taken over. False if the document no longer carries
  /// that hold. Errors: those of lock_try(); `lock_lost` if there is no such hold. After false or
  /// an error it has none. But `already_held` (it is valid) changes nothing, and neither does
  /// `stopped` if the pinger was stopped before the call.
  [[nodiscard]] bool reclaim(std::string_view why = {});

  /// Why the last hold was lost. Empty if it was not lost, or was unlocked before its deadline.
  std::optional<LossReason> lost() const;

  /// Sets the callback that runs once for each hold that is lost, before any contender can have won
  /// by takeover. Replaces the callback before. It runs on a thread of the pinger's, or in the
  /// destructor. It may block, throw (logged), unlock or destroy this lock. The destructor waits
  /// for a callback that runs, unless that callback destroys the lock. The lock may be held anew by
  /// then: unlock(ts) leaves a later hold alone. With PingerDrive::caller it runs within the call
  /// that notices the loss, and may destroy this lock in a round or still_held() only.
  void on_lost(std::function<void(LossReason)> callback);

  /// As on_lost(), for an early warning: half of a hold's validity is gone without a confirmed
  /// ping. Gets valid_until(). Runs once until a ping is confirmed again.
  void on_at_risk(std::function<void(SteadyTime valid_until)> callback);

  /// The token of the present hold, or of the last hold. A stop is requested when the hold is lost,
  /// before any callback runs, and not when it is unlocked in time. Each hold has its own token.
  std::stop_token stop_token();

  class Contender;  // of the library

 private:
  bool wait_for(std::chrono::nanoseconds limit, const std::stop_token& stop, std::string_view why,
                LockRecord* other);

  std::unique_ptr<Contender> contender_;
};

}  // namespace distlock
