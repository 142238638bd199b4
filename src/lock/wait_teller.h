#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/wait_report.h"

namespace distlock {

/// Tells a program how a wait goes, from half a second on: once how the lock was seen, and once
/// that the store fails. On the waiting thread.
class WaitTeller {
 public:
  using Callback = std::function<void(const WaitReport&)>;

  /// `callback` may be null.
  WaitTeller(std::shared_ptr<const Callback> callback, SteadyTime begun);

  /// From when on the next look at the lock is told. The distant future if none will be.
  SteadyTime due() const;

  /// `now`: after the look. Errors: whatever the callback throws.
  void saw(const LockRecord& lock, const std::optional<Token>& ticket, SteadyTime now);
  void failed(const Error& error, SteadyTime now);

 private:
  std::shared_ptr<const Callback> callback_;
  SteadyTime due_;
  bool lock_told_ = false;
  bool failure_told_ = false;
};

}  // namespace distlock
