#pragma once

#include <chrono>

#include "distlock/clock.h"

namespace distlock::cli {

/// A process that was just forked escapes a SIGKILL. The next one comes so soon.
inline constexpr std::chrono::milliseconds kKillAgainAfter{20};

/// A look of the keeper at the processes of a command.
struct Look {
  SteadyTime at;        ///< When it began.
  bool none = false;    ///< It saw all processes, and none was left to wait for.
  bool killed = false;  ///< It killed some.
};

/// When the keeper looks again, and when it has looked enough.
class Looks {
 public:
  /// `kill_at`: from then on a look kills.
  void take(const Look& look, SteadyTime kill_at);

  /// Two looks in succession found none. A process may be forked during one.
  bool enough() const { return empty_ >= 2; }

  /// Not behind the time to kill, where that is ahead.
  SteadyTime next() const { return next_; }

 private:
  int empty_ = 0;
  bool kills_ = false;
  std::chrono::milliseconds pause_{1};
  SteadyTime next_;
};

}  // namespace distlock::cli
