#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "protocol/protocol.h"

namespace distlock {

/// Whether those in line come first to the lock of a dead holder. A lock_try() stands in no line,
/// and so is the last (R17).
class TurnOfLine {
 public:
  /// How long still; 0 or less: not at all. `window`: that of the holder. Of a holder whose death
  /// the kernel saw, the turns begin when this object sees it first. They are over where its last
  /// ping is a minute old, or by a clock of its own.
  std::chrono::nanoseconds left(const protocol::Judgement& dead, const Inspection& seen,
                                std::chrono::milliseconds window, SteadyTime now);

 private:
  std::optional<Token> ended_;
  SteadyTime ended_seen_{};
};

/// Whether the process of anyone who is waited for may live, by all pings of the store.
bool somebody_lives(const std::vector<Waiter>& line, const std::vector<Listed<PingRecord>>& pings);

}  // namespace distlock
