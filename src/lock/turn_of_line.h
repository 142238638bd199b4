#pragma once

#include <chrono>
#include <optional>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "protocol/protocol.h"

namespace distlock {

/// Whether those in line come first to the lock of a dead holder. A lock_try() stands in no line,
/// and so is the last (R17).
class TurnOfLine {
 public:
  /// `window`: that of the holder. Of a holder whose death the kernel saw, the turns begin when
  /// this object sees it first. They are over where its last ping is a minute old: those in line
  /// may have died with it.
  bool lasts(const protocol::Judgement& dead, const Inspection& seen,
             std::chrono::milliseconds window, SteadyTime now);

 private:
  std::optional<Token> ended_;
  SteadyTime ended_seen_{};
};

}  // namespace distlock
