#pragma once

#include <string>

#include "distlock/distributed_lock.h"
#include "pinger/session.h"

namespace distlock {

/// Releases holds of one lock: in bounded time, without throwing (R3, R11). Knows nothing of the
/// state of the lock object.
class Releaser {
 public:
  Releaser(Session& session, const std::string& name, const LockOptions& options)
      : session_(session), name_(name), options_(options) {}

  struct Released {
    UnlockResult result = UnlockResult::pending;
    bool others_wait = false;  ///< The line was not empty.
  };
  /// Three attempts, and then a pending release. `valid_until`: nobody could take over before.
  Released release(const Token& ts, SteadyTime valid_until) noexcept;

 private:
  void pause_after(int attempt);
  UnlockResult result_of(ReleaseResult result, bool perhaps_freed, SteadyTime valid_until) const;

  Session& session_;
  const std::string& name_;
  const LockOptions& options_;
};

}  // namespace distlock
