#pragma once

#include <chrono>
#include <optional>

#include "distlock/clock.h"
#include "distlock/options.h"

namespace distlock::cli {

/// The time that `run` allows at most by default between SIGTERM and SIGKILL, and then for reaping.
inline constexpr std::chrono::milliseconds kGraceMost = std::chrono::seconds{5};
inline constexpr std::chrono::milliseconds kMarginMost = std::chrono::seconds{1};

/// The fate of the command when its lock is lost, or about to be.
enum class OnLoss {
  terminate,  ///< SIGTERM, and SIGKILL after the grace.
  kill,       ///< SIGKILL.
  ignore,     ///< It goes on; the exit status tells.
};

/// How a command is ended.
struct EndingPlan {
  OnLoss on_loss = OnLoss::terminate;
  std::chrono::milliseconds grace{};   ///< Between SIGTERM and SIGKILL.
  std::chrono::milliseconds margin{};  ///< Between SIGKILL and the deadline: to die and be reaped.
  std::chrono::milliseconds look_every{};  ///< How often to look whether pings moved the deadline.
};

/// The times that decide how long a command may take to end.
struct LeaseTimes {
  LockOptions lock;
  std::chrono::milliseconds ping_every{};
  std::chrono::milliseconds call_limit{};
};

/// `grace`: nothing stands for 5 s, or an eighth of a shorter takeover_after, or what fits.
/// Errors: `invalid_argument` for options out of range, or if `grace` and the margin leave the
/// pings no room before the deadline (R9); the message does the sum.
EndingPlan fitting_plan(const LeaseTimes& times, std::optional<std::chrono::milliseconds> grace,
                        OnLoss on_loss);

/// The same for a hold whose deadline may come nearer, as on a mirrored store (M5): with looks
/// often enough to end the command before it.
EndingPlan for_nearer_deadlines(EndingPlan plan);

/// Decides when a command has to be ended, so that it is gone before its hold's deadline (R9).
///
/// Once begun, the end is final: a ping that is confirmed after the SIGTERM changes nothing. A
/// command cannot be told that it may go on after all. A deadline that comes nearer counts always.
class Countdown {
 public:
  enum class Step { wait, terminate, kill };
  struct Due {
    Step step = Step::wait;
    SteadyTime next;  ///< When to look again at the latest.
  };

  Countdown(const EndingPlan& plan, SteadyTime valid_until);

  /// `valid_until`: of the hold, now; nothing if it is lost.
  Due look(SteadyTime now, std::optional<SteadyTime> valid_until);

  bool begun() const { return kill_at_.has_value(); }

  /// When the keeper must kill the command if it hears no more of us. SteadyTime::max(): never.
  /// Until the end has begun: a little later than by look(), which may know of a later ping.
  SteadyTime kill_at() const;

 private:
  void know(SteadyTime valid_until);

  EndingPlan plan_;
  SteadyTime last_;  ///< The hold's deadline less the margin, as far as is known.
  std::optional<SteadyTime> kill_at_;
};

}  // namespace distlock::cli
