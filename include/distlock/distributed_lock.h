#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/error.h"
#include "distlock/export.h"
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
/// Threads: all functions may be called from any thread. One object is one contender: from one
/// thread's lock to its unlock the others find it busy, also after the hold was lost. It meets
/// Lockable and TimedLockable.
class DISTLOCK_EXPORT DistributedLock {
 public:
  /// A lock of the store that `config` names, through this process's pinger for that string.
  /// `takeover_minutes`: how long a holder must be silent; the original's whole-minute comparison.
  /// Errors: `invalid_argument` (a name that is empty, longer than 1,000 bytes, not UTF-8 or has a
  /// NUL; minutes below 1), and those of open_store().
  DistributedLock(const ConnectionString& config, std::string name, int takeover_minutes = 15);

  /// For those who bring their own store, clock or identity.
  /// Errors: `invalid_argument`, also if the options leave a holder too little time between its
  /// ping and its deadline; the message does the sum.
  DistributedLock(std::shared_ptr<DistributedLockPinger> pinger, std::string name,
                  const LockOptions& options = {});

  /// unlock(), if held, and waits for a callback that is running.
  ~DistributedLock();
  DistributedLock(const DistributedLock&) = delete;
  DistributedLock& operator=(const DistributedLock&) = delete;

  /// Tries once, without waiting for the holder. `why` is kept in the record for people to read.
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
  /// As lock(), but gives up (false) when a stop is requested.
  [[nodiscard]] bool lock(const std::stop_token& stop, std::string_view why = {},
                          LockRecord* other = nullptr);
  [[nodiscard]] bool try_lock() { return lock_try({}); }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit,
                                  const std::stop_token& stop = {}, std::string_view why = {},
                                  LockRecord* other = nullptr) {
    return wait_for(saturate(limit), stop, why, other);
  }
  /// The time left is taken from `Clk` once, at the call.
  template <class Clk, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clk, Duration>& deadline,
                                    const std::stop_token& stop = {}) {
    const auto now = Clk::now();
    return wait_for(deadline <= now ? std::chrono::nanoseconds{0} : saturate(deadline - now), stop,
                    {}, nullptr);
  }

  const std::string& name() const;
  const LockOptions& options() const;

  /// Claimed, not unlocked, and valid_until() has not passed.
  bool held() const;

  /// The record as it was claimed. Errors: `lock_lost` if nothing was claimed or it was unlocked.
  LockRecord record() const;

  /// The fencing token of the hold (R10). Errors: as record().
  Fence fence() const { return record().fence; }

  /// Until when this object may act on its hold without asking (R9), counted from before the last
  /// confirmed ping was sent. Pings move it on; a deadline that has passed is final. The distant
  /// past if nothing is held.
  SteadyTime valid_until() const;

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
  [[nodiscard]] bool reclaim(std::string_view why);

  /// Why the last hold was lost. Nothing if it was not, or was unlocked or followed by another.
  std::optional<LossReason> lost() const;

  /// Runs once for each hold that is lost, on a thread of its own, before any contender can have
  /// won by takeover. It may block, throw (logged), unlock or destroy this lock; the destructor
  /// waits for one that runs, unless that is who destroys it. Replaces the callback before.
  void on_lost(std::function<void(LossReason)> callback);

  /// As on_lost(), when half of a hold's validity is gone without a confirmed ping: an early
  /// warning, with valid_until(). Once until a ping is confirmed again.
  void on_at_risk(std::function<void(SteadyTime valid_until)> callback);

  /// Of the present hold, or the last one: a stop is requested when it is lost, not when it is
  /// unlocked. Each claim makes a new one.
  std::stop_token stop_token();

  struct Impl;  // of the library

 private:
  template <class Rep, class Period>
  static std::chrono::nanoseconds saturate(const std::chrono::duration<Rep, Period>& d) {
    using Wide = std::chrono::duration<double>;
    constexpr std::chrono::hours kMost{24 * 365 * 100};
    if (Wide(d) >= Wide(kMost)) return kMost;
    if (Wide(d) <= Wide(0)) return std::chrono::nanoseconds{0};
    return std::chrono::ceil<std::chrono::nanoseconds>(d);
  }
  bool wait_for(std::chrono::nanoseconds limit, const std::stop_token& stop, std::string_view why,
                LockRecord* other);

  struct Claiming;
  std::unique_ptr<Impl> impl_;
};

/// Tries to lock on construction and unlocks on destruction. Move-only; must not outlive the lock.
/// Source: the original's dist_lock_try.
class [[nodiscard]] dist_lock_try {
 public:
  /// Errors: those of DistributedLock::lock_try().
  dist_lock_try(DistributedLock* lock, std::string_view why)
      : lock_(lock), got_(lock->lock_try(why, &other_)) {
    if (got_) hold_ = lock->record();
  }
  dist_lock_try(dist_lock_try&& from) noexcept
      : lock_(from.lock_),
        hold_(std::move(from.hold_)),
        other_(std::move(from.other_)),
        got_(std::exchange(from.got_, false)) {}
  dist_lock_try& operator=(dist_lock_try&&) = delete;
  dist_lock_try(const dist_lock_try&) = delete;
  dist_lock_try& operator=(const dist_lock_try&) = delete;
  ~dist_lock_try() {
    if (got_) lock_->unlock(*hold_.ts);
  }

  bool got() const { return got_; }
  explicit operator bool() const { return got_; }
  /// Who was in the way. Only if not got().
  const LockRecord& other() const { return other_; }
  /// Of the hold that this object got, whatever became of it. 0 if not got().
  Fence fence() const { return hold_.fence; }

 private:
  DistributedLock* lock_;
  LockRecord hold_;
  LockRecord other_;
  bool got_;
};

}  // namespace distlock
