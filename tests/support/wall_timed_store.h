#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "distlock/clock.h"
#include "support/faulty_store.h"

namespace distlock::testing {

/// A clock of a server or a process: that of all, apart by the steps that a test made.
class SteppedClock : public Clock {
 public:
  explicit SteppedClock(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  void step(std::chrono::nanoseconds by) { off_ += by; }
  /// As an administrator does: the wall clock alone.
  void set_wall_off(std::chrono::milliseconds off) { wall_off_ = off; }

  SteadyTime steady_now() const override { return clock_->steady_now() + off_; }
  WallTime wall_now() const override {
    return clock_->wall_now() + std::chrono::floor<std::chrono::milliseconds>(off_) + wall_off_;
  }
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    return clock_->wait_until(until - off_, stop);
  }

 private:
  std::shared_ptr<Clock> clock_;
  std::chrono::nanoseconds off_{0};
  std::chrono::milliseconds wall_off_{0};
};

/// A store that says of its clock that it can be stepped, as MongoDB's wall clocks can.
class WallTimedStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  Inspection inspect(std::string_view name, Freshness freshness) override {
    Inspection seen = FaultyStore::inspect(name, freshness);
    if (seen.now) seen.now->steady = false;
    return seen;
  }
  Listing list() override {
    Listing listing = FaultyStore::list();
    listing.now.steady = false;
    return listing;
  }
};

}  // namespace distlock::testing
