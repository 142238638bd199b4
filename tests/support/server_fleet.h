#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/fleet.h"

namespace distlock::testing {

/// A server's wall clock, as all its clients see it: it can be stepped, and replaced by another.
struct ServerClock {
  std::chrono::milliseconds off{0};
  std::string name = "c1";
  std::map<std::string, std::pair<std::chrono::milliseconds, std::string>> stamped;
};

/// A handle on a store that is timed by such a clock, and answers an ordinary read with what was
/// there when `freeze()` was called.
class ServerStore : public FaultyStore {
 public:
  ServerStore(std::shared_ptr<Store> inner, std::shared_ptr<ServerClock> clock)
      : FaultyStore(std::move(inner)), clock_(std::move(clock)) {}

  void freeze(const std::string& name) { frozen_ = inspect(name, Freshness::fresh); }

  Inspection inspect(std::string_view name, Freshness freshness) override {
    if (frozen_ && freshness == Freshness::ordinary) {
      Inspection stale = *frozen_;
      stale.now = FaultyStore::inspect(name, freshness).now;
      stale.now->time += clock_->off;
      stale.now->clock = clock_->name;
      stale.now->steady = false;
      stale.fresh = false;
      return stale;
    }
    Inspection seen = FaultyStore::inspect(name, freshness);
    seen.now->time += clock_->off;
    seen.now->clock = clock_->name;
    seen.now->steady = false;
    if (seen.ping) {
      const auto& [off, by] = clock_->stamped.at(seen.ping->process);
      seen.ping->ping += off;
      seen.ping->clock = by;
    }
    return seen;
  }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    cutoffs.push_back(claim.cutoff);
    if (claim.cutoff.clock != clock_->name) return std::nullopt;
    Claim inner = claim;
    inner.cutoff = {claim.cutoff.time - clock_->off, "memory"};
    return FaultyStore::claim(name, basis, inner);
  }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    PingRecord ping = FaultyStore::ping(process, health);
    clock_->stamped[std::string(process)] = {clock_->off, clock_->name};
    return {ping.process, ping.ping + clock_->off, clock_->name, ping.health};
  }

  std::vector<StoreNow> cutoffs;

 private:
  std::shared_ptr<ServerClock> clock_;
  std::optional<Inspection> frozen_;
};

/// Processes whose store is timed by a server's wall clock.
class ServerFleet : public Fleet {
 public:
  ProcessWith<ServerStore> process(const std::string& name) {
    return process_with(std::make_shared<ServerStore>(store, server), name);
  }
  /// The site's wall clocks all step, that of the contender, too: only a steady clock can tell.
  void step(std::chrono::milliseconds by) {
    server->off += by;
    clock->set_wall_off(server->off);
  }

  std::shared_ptr<ServerClock> server = std::make_shared<ServerClock>();
};

}  // namespace distlock::testing
