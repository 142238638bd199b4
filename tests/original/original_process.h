#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "original/algorithms.h"
#include "original/program.h"
#include "sim/scheduler.h"
#include "sim/world.h"

namespace distlock::original {

/// A simulated process of a published algorithm: its pinger and its workers on fibers of one world,
/// and what befalls it.
class OriginalProcess {
 public:
  /// Where it runs, and how.
  struct Site {
    Algorithm algorithm;
    std::vector<sim::Servers*> servers;
    Constants constants;
  };

  OriginalProcess(sim::World& world, const std::string& host, Site site, Witness& witness);

  /// `together`: workers try at full tens of seconds, as programs do that were started at once.
  void start(int workers, bool together);

  void crash();
  void pause(sim::Time until);
  void pause_pinger(sim::Time until);
  /// At the n-th point from now between two steps, instead of at once: crash, or pause.
  void ambush(int points, std::optional<sim::Time> pause_for);
  void set_wall_off(std::chrono::milliseconds off);
  /// Its workers unlock and finish; its pinger goes on.
  void stop_working();
  /// Its pinger, too, ends.
  void end();

  const std::string& id() const { return program_.id; }
  const std::string& host() const { return host_; }
  bool dead() const { return dead_; }
  bool working() const { return working_ > 0; }
  std::chrono::milliseconds wall_off() const { return clock_.wall_off(); }

 private:
  void at_point();
  void work(const std::string& lock_name, sim::Random random);
  void one_turn(const std::string& lock_name, sim::Random& random);
  void rest(sim::Time duration);
  void act(PublishedLock& lock);
  void ping_until_the_end();
  sim::Time window() const;

  sim::World& world_;
  const std::string host_;
  const Site site_;
  sim::FiberGroup group_;
  sim::SimClock clock_;
  std::vector<std::unique_ptr<sim::SimStore>> stores_;
  Program program_;
  sim::Fiber* pinging_ = nullptr;
  std::stop_source stopping_work_;
  std::stop_source ending_;
  int points_left_ = 0;
  std::optional<sim::Time> ambush_pause_;
  int working_ = 0;
  bool together_ = false;
  bool dead_ = false;
};

}  // namespace distlock::original
