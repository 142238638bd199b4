#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "distlock/pinger.h"
#include "sim/setup.h"
#include "sim/sim_clock.h"
#include "sim/sim_store.h"

namespace distlock::sim {

struct World;

/// One simulated process: the library's own pinger on fibers, and workers that use its locks.
class SimProcess {
 public:
  SimProcess(World& world, std::string host, const LockOptions& options);

  /// Begins to ping, to watch its deadlines, and to work.
  void start(int workers, int locks);

  // Faults of this process.
  void crash();
  void pause(Time until);
  void pause_pinger(Time until);
  /// At the n-th point from now between two instructions, instead of at once.
  void ambush(Fault fault, int points, Time duration);
  /// Calls back when one of its workers has unlocked, once.
  void once_unlocked(std::function<void(const std::string& lock)> then) {
    once_unlocked_ = std::move(then);
  }
  void has_unlocked(const std::string& lock);
  /// Keeps the hold that it is told of now until it is let go.
  void hold_on() { holds_on_ = true; }
  void let_go() { holds_on_ = false; }
  bool holds_on() const { return holds_on_; }
  /// Calls back before it sends a release to that member, once.
  void before_release_at(std::size_t member, std::function<void()> then) {
    before_release_ = BeforeRelease{member, std::move(then)};
  }
  /// Stands still no more.
  void go_on();
  void set_wall_off(std::chrono::milliseconds off);
  /// Its workers finish, then its pinger stops.
  void end_soon();
  /// Its pinger stops then, whatever its workers do.
  void stop_at(Time then) { stops_at_ = then; }
  bool stopped_among_workers() const { return stopped_among_workers_; }

  const std::string& id() const { return id_; }
  const std::string& host() const { return host_; }
  bool alive() const { return !dead_ && !stopped_; }
  bool dead() const { return dead_; }
  bool ending() const { return stopped_among_workers_ || ending_.stop_requested(); }
  std::stop_token ending_token() const { return ending_.get_token(); }
  /// A call of a lock may have left something to its next round of rings.
  void wake_ringer() { released_.request_stop(); }
  /// How often it has stood still: what took long since may have been that.
  int pauses() const { return pauses_; }

  World& world() { return world_; }
  SimClock& clock() { return *clock_; }
  /// Of a mirrored store each member.
  const std::vector<std::shared_ptr<SimStore>>& stores() const { return stores_; }
  Members* members() { return whole_->members(); }
  SimStore& store() { return *stores_.front(); }
  const LockOptions& options() const { return options_; }
  const std::shared_ptr<DistributedLockPinger>& pinger() { return pinger_; }
  FiberGroup& group() { return group_; }

 private:
  std::shared_ptr<Store> open();

  struct Ambush {
    Fault fault;
    int points;
    Time duration;
  };

  struct BeforeRelease {
    std::size_t member;
    std::function<void()> then;
  };

  void at_point(const Call& call, std::size_t member);
  void spring(const Ambush& ambush);
  void outlast_a_grant();
  void run_pings();
  bool must_stop() const;
  void stop_pinger();
  void run_watch();
  void run_ringer();
  void end_watch();
  void run_worker(int number, int locks);

  World& world_;
  const std::string host_;
  const std::string id_;
  const LockOptions options_;
  FiberGroup group_;
  Random random_;
  std::shared_ptr<SimClock> clock_;
  std::vector<std::shared_ptr<SimStore>> stores_;
  std::shared_ptr<Store> whole_;  // the mirrored one, or the only one
  std::shared_ptr<DistributedLockPinger> pinger_;
  std::function<void(const std::string& lock)> once_unlocked_;
  std::optional<BeforeRelease> before_release_;
  Fiber* pinging_ = nullptr;
  Time stops_at_ = kNever;
  std::stop_source ending_;
  std::stop_source stopping_watch_;
  std::stop_source released_;
  std::optional<Ambush> ambush_;
  int working_ = 0;
  int pauses_ = 0;
  bool holds_on_ = false;
  bool dead_ = false;
  bool stopped_among_workers_ = false;
  bool stopped_ = false;
};

}  // namespace distlock::sim
