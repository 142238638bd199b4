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

namespace distlock {

/// What came of an unlock().
enum class UnlockResult {
  released,  ///< The lock is free, or was free and claimed by another since.
  not_ours,  ///< It was not held by this object, or not any more. Nothing was changed.
  pending,   ///< The store did not answer. The pinger goes on trying while it lives; after that
             ///< the lock is free for takeover once takeover_after has passed.
};

/// A named lock that many processes compete for. START HERE.
///
/// Holding it does not prove that it is still ours: a process paused for longer than
/// LockOptions::takeover_after is taken over. Ask valid_until() before work that must not run
/// twice, or better, hand fence() to the resource and let it refuse any smaller one
/// (docs/guarantees.md).
///
/// It stays where it is made, for guards, callbacks and other threads point to it: keep it in a
/// std::unique_ptr, std::optional or std::map where it must be made later or handed on.
///
/// Threads: all functions may be called from any thread. One object is one contender: from one
/// thread's lock to its unlock the others find it busy, also after the hold was lost. It meets
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

  /// For those who bring their own store, clock or identity.
  /// Errors: `invalid_argument`, also if the options leave a holder too little time between its
  /// ping and its deadline; the message does the sum.
  DistributedLock(std::shared_ptr<DistributedLockPinger> pinger, std::string name,
                  const LockOptions& options = {});

  /// unlock(), if held. Runs callbacks that are due, and waits for one that runs on another thread:
  /// none begins after it.
  ~DistributedLock();
  DistributedLock(const DistributedLock&) = delete;
  DistributedLock& operator=(const DistributedLock&) = delete;

  /// Tries once, without waiting for the holder. `why` is kept in the record for people to read;
  /// LockOptions::why where it is empty, here and below.
  /// Returns true if this object now holds the lock. Otherwise `*other`, if given, is the record
  /// that was in the way: free, if others came and went meanwhile; without a `ts` while another
  /// thread is claiming through this very object.
  /// Errors: `not_applied`, `permission_denied`, `bad_record`: nothing is held. `outcome_unknown`:
  /// nothing is held as far as this object goes; the pinger frees what the store may have granted.
  /// `already_held`: by this very thread. `stopped`, `forked`. `invalid_argument`: `why` is not
  /// UTF-8 or has a NUL.
  /// Source: the original's lock_try(); R2, R5 to R8, R14.
  [[nodiscard]] bool lock_try(std::string_view why, LockRecord* other = nullptr);

  /// Gives the lock up: up to 3 attempts, with 2 s and 4 s between them (R11). Touches nothing but
  /// this object's own hold (R3). An unlock of nothing is `not_ours`.
  UnlockResult unlock() noexcept;
  /// As unlock(), but only if the present hold is `ts`: a late unlock frees no later hold (R3).
  UnlockResult unlock(const Token& ts) noexcept;

  /// Waits until the lock is held.
  /// Errors: those of lock_try(); store failures only after LockOptions::store_patience.
  void lock();
  /// As lock(), but gives up (false) when a stop is requested. `other`: as lock_try().
  [[nodiscard]] bool lock(const std::stop_token& stop, std::string_view why = {},
                          LockRecord* other = nullptr);
  [[nodiscard]] bool try_lock() { return lock_try({}); }

  /// As lock(), but gives up (false) after `limit`, or when a stop is requested: then no further
  /// call of the store begins. 0 is one lock_try().
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
    const auto now = Clk::now();
    const auto limit = deadline <= now ? std::chrono::nanoseconds{0} : bounded_wait(deadline - now);
    return wait_for(limit, stop, why, other);
  }

  const std::string& name() const;
  const LockOptions& options() const;

  /// Claimed, not unlocked, and valid_until() has not passed, by this machine's clock. Where a
  /// virtual machine is paused without its clock noticing, this stays true until the next ping
  /// round finds the hold gone; still_held() asks at once.
  bool held() const;

  /// The record as it was claimed. Errors: `lock_lost` if nothing was claimed or it was unlocked.
  LockRecord record() const;

  /// The fencing token of the hold (R10). Errors: as record().
  Fence fence() const { return record().fence; }

  /// Until when this object may act on its hold without asking (R9), counted from before the last
  /// confirmed ping was sent. Pings move it on; a deadline that has passed is final. The distant
  /// past if nothing is held.
  SteadyTime valid_until() const;

  /// How much of that is left by this process's clock: 0 if nothing is held or the time is over.
  std::chrono::nanoseconds remaining() const;

  /// Cheap enough for every round of a loop: no store call, no lock.
  /// Errors: `lock_lost` if nothing is held or valid_until() has passed; `forked`.
  void check() const;

  /// Asks the store, with a fresh read. True: at some moment during the call the store's document
  /// carried this hold, and the deadline has not passed now. False is final, as a loss is.
  /// Errors: those of a read: then nothing new is known, and valid_until() still counts.
  [[nodiscard]] bool still_held();

  /// Claims anew, with a new `ts` and fence, from exactly this object's own last hold: for one who
  /// has lost it by its deadline, before anybody took over. False if the document no longer carries
  /// it. Errors: those of lock_try(); `lock_lost` if there is no such hold, `already_held` if it is
  /// valid. After false or an error there is none any more.
  [[nodiscard]] bool reclaim(std::string_view why = {});

  /// Why the last hold was lost. Nothing if it was not, or was unlocked before its deadline.
  std::optional<LossReason> lost() const;

  /// Runs once for each hold that is lost, before any contender can have won by takeover. Runs on
  /// a thread of the pinger's, or in the destructor. It may block, throw (logged), unlock or
  /// destroy this lock; the destructor waits for one that runs, unless that is who destroys it. By
  /// then this lock may be held anew: unlock(ts) leaves a later hold alone. Replaces the callback
  /// before. With PingerDrive::caller it runs within the call that notices the loss, and may
  /// destroy this lock in a round or still_held() only.
  void on_lost(std::function<void(LossReason)> callback);

  /// As on_lost(), when half of a hold's validity is gone without a confirmed ping: an early
  /// warning, with valid_until(). Once until a ping is confirmed again.
  void on_at_risk(std::function<void(SteadyTime valid_until)> callback);

  /// Of the present hold, or the last one: a stop is requested when it is lost, before any callback
  /// runs, and not when it is unlocked in time. Each hold has one of its own.
  std::stop_token stop_token();

  class Contender;  // of the library

 private:
  bool wait_for(std::chrono::nanoseconds limit, const std::stop_token& stop, std::string_view why,
                LockRecord* other);

  std::unique_ptr<Contender> contender_;
};

}  // namespace distlock
