#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distlock/clock.h"
#include "support/manual_clock.h"

namespace distlock::testing {

/// A server with keys that expire by its own wall clock, in memory alone.
class KeyServer {
 public:
  explicit KeyServer(std::shared_ptr<ManualClock> clock) : clock_(std::move(clock)) {}

  /// SET key value NX PX time_to_live.
  bool set_if_absent(const std::string& key, const std::string& value,
                     std::chrono::milliseconds time_to_live) {
    expire();
    return keys_.try_emplace(key, Key{value, now() + time_to_live}).second;
  }
  void delete_if_equal(const std::string& key, const std::string& value) {
    const auto found = keys_.find(key);
    if (found != keys_.end() && found->second.value == value) keys_.erase(found);
  }
  std::string get(const std::string& key) {
    expire();
    const auto found = keys_.find(key);
    return found == keys_.end() ? "" : found->second.value;
  }

  void restart_without_data() { keys_.clear(); }
  void step_clock(std::chrono::milliseconds by) { clock_off_ += by; }

 private:
  struct Key {
    std::string value;
    WallTime expires;
  };

  WallTime now() const { return clock_->wall_now() + clock_off_; }
  void expire() {
    std::erase_if(keys_, [now = now()](const auto& key) { return key.second.expires <= now; });
  }

  std::shared_ptr<ManualClock> clock_;
  std::chrono::milliseconds clock_off_{0};
  std::map<std::string, Key> keys_;
};

/// A client of Redlock, by the five steps of "Distributed Locks with Redis" (redis.io), each a
/// function, so that a test can put anything between two of them; lock() makes them all. A lock has
/// a random value and a time to live, no identity that orders holders, and no fence.
class Redlock {
 public:
  Redlock(std::vector<KeyServer>& servers, std::shared_ptr<ManualClock> clock, std::string value,
          std::chrono::milliseconds time_to_live)
      : servers_(servers),
        clock_(std::move(clock)),
        value_(std::move(value)),
        time_to_live_(time_to_live),
        away_(servers.size(), false) {}

  void set_away(std::size_t server, bool away) { away_[server] = away; }
  void step_clock(std::chrono::milliseconds by) { clock_off_ += by; }

  /// Step 1: the current time in milliseconds.
  void begin() {
    began_ = now();
    granted_ = 0;
    valid_until_.reset();
  }
  /// Step 2, on one server: the same key and value everywhere. A server that is away is passed
  /// over.
  void claim_on(std::size_t server) {
    if (away_[server]) return;
    granted_ += servers_[server].set_if_absent(kKey, value_, time_to_live_) ? 1 : 0;
  }
  /// Steps 3 and 4: acquired by N/2+1 servers in less than the time to live. The validity is what
  /// is left of it, minus what clocks may drift apart. Step 5, if not acquired: release on all.
  bool decide() {
    const auto elapsed = now() - began_;
    const auto drift = time_to_live_ / 100 + std::chrono::milliseconds{2};
    const auto validity = time_to_live_ - elapsed - drift;
    if (granted_ >= servers_.size() / 2 + 1 && validity > std::chrono::milliseconds{0}) {
      valid_until_ = now() + validity;
    } else {
      unlock();
    }
    return valid_until_.has_value();
  }
  bool lock() {
    begin();
    for (std::size_t i = 0; i < servers_.size(); ++i) claim_on(i);
    return decide();
  }
  /// By value, on all servers, also those that granted nothing.
  void unlock() {
    valid_until_.reset();
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (!away_[i]) servers_[i].delete_if_equal(kKey, value_);
    }
  }

  /// Acquired, and its validity is not over by its own clock: all that it can know.
  bool holds() const { return valid_until_ && now() < *valid_until_; }

 private:
  inline static const std::string kKey = "jobs";

  WallTime now() const { return clock_->wall_now() + clock_off_; }

  std::vector<KeyServer>& servers_;
  std::shared_ptr<ManualClock> clock_;
  const std::string value_;
  const std::chrono::milliseconds time_to_live_;
  std::vector<bool> away_;
  std::chrono::milliseconds clock_off_{0};
  WallTime began_;
  std::size_t granted_ = 0;
  std::optional<WallTime> valid_until_;
};

}  // namespace distlock::testing
