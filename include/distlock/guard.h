#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

#include "distlock/clock.h"
#include "distlock/export.h"
#include "distlock/record.h"

namespace distlock {

class DistributedLock;

/// The base of both guards below. A guard's destructor ends the hold that it got, and no later hold
/// of the same lock (R3). Move-only. It must not outlive the lock.
class DISTLOCK_EXPORT HoldGuard {
 public:
  HoldGuard(HoldGuard&& from) noexcept;
  HoldGuard& operator=(HoldGuard&&) = delete;
  HoldGuard(const HoldGuard&) = delete;
  HoldGuard& operator=(const HoldGuard&) = delete;
  ~HoldGuard();

  /// Whether the lock is held. Source: the original's name.
  bool got() const { return got_; }
  explicit operator bool() const { return got_; }
  /// The record that was in the way. Only if not got().
  const LockRecord& other() const { return other_; }
  /// The fence of the hold that this object got, also after it ended. 0 if not got().
  Fence fence() const { return hold_.fence; }

 protected:
  explicit HoldGuard(DistributedLock& lock) : lock_(&lock) {}
  void try_once(std::string_view why);
  void wait(const std::stop_token& stop, std::string_view why);
  void wait_for(std::chrono::nanoseconds limit, const std::stop_token& stop, std::string_view why);

 private:
  void note(bool got);

  DistributedLock* lock_;
  LockRecord hold_;
  LockRecord other_;
  bool got_ = false;
};

/// Tries to lock on construction and unlocks on destruction.
/// Source: the original's dist_lock_try.
class [[nodiscard]] dist_lock_try : public HoldGuard {
 public:
  /// Errors: those of DistributedLock::lock_try().
  [[nodiscard]] dist_lock_try(DistributedLock* lock, std::string_view why) : HoldGuard(*lock) {
    try_once(why);
  }
};

/// Waits for the lock on construction and unlocks on destruction. Ask got(): the wait may end
/// without the lock.
class [[nodiscard]] dist_lock : public HoldGuard {
 public:
  /// Waits for at most `limit`; 0 is one lock_try().
  /// Errors: those of DistributedLock::try_lock_for().
  template <class Rep, class Period>
  [[nodiscard]] dist_lock(DistributedLock& lock, const std::chrono::duration<Rep, Period>& limit,
                          std::string_view why = {})
      : dist_lock(lock, limit, std::stop_token{}, why) {}
  /// As above, and until a stop is requested.
  template <class Rep, class Period>
  [[nodiscard]] dist_lock(DistributedLock& lock, const std::chrono::duration<Rep, Period>& limit,
                          const std::stop_token& stop, std::string_view why = {})
      : HoldGuard(lock) {
    wait_for(bounded_wait(limit), stop, why);
  }
  /// Waits until a stop is requested.
  /// Errors: those of DistributedLock::lock().
  [[nodiscard]] dist_lock(DistributedLock& lock, const std::stop_token& stop,
                          std::string_view why = {})
      : HoldGuard(lock) {
    wait(stop, why);
  }
};

}  // namespace distlock
