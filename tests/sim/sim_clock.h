#pragma once

#include "distlock/clock.h"
#include "sim/scheduler.h"

namespace distlock::sim {

/// The clocks of one process: steady time that runs a little fast or slow, and wall time that may
/// be off and may be stepped. Waiting passes no real time. Once `dead`, it waits for nothing.
class SimClock : public Clock {
 public:
  SimClock(Scheduler& scheduler, Time steady_offset, double rate)
      : scheduler_(scheduler), steady_offset_(steady_offset), rate_(rate) {}

  SteadyTime steady_now() const override;
  WallTime wall_now() const override;
  bool wait_until(SteadyTime until, const std::stop_token& stop) override;

  /// The steady clock, for the oracle: reading it gives nobody else a turn.
  SteadyTime steady_at_this_moment() const;
  /// Its time at that true time.
  SteadyTime steady_at(Time then) const;

  void set_wall_off(std::chrono::milliseconds off) { wall_off_ = off; }
  std::chrono::milliseconds wall_off() const { return wall_off_; }
  void die() { dead_ = true; }
  /// How likely others come in between at a reading of the clock.
  void set_interruptions(Random random, double probability);

 private:
  Time true_time_of(SteadyTime time) const;
  void perhaps_interrupted() const;

  Scheduler& scheduler_;
  const Time steady_offset_;
  const double rate_;
  std::chrono::milliseconds wall_off_{0};
  bool dead_ = false;
  mutable Random random_{0};
  double interruptions_ = 0;
};

/// The time of wall clocks when a run begins.
inline constexpr std::chrono::milliseconds kEpoch{1'700'000'000'000};

}  // namespace distlock::sim
