#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distlock/store.h"
#include "sim/oracle.h"
#include "sim/sim_store.h"

namespace distlock::sim {

/// One process's mirrored store: tells the oracle of the whole when its pinger looks at its holds,
/// and what it gets to see.
class WholeStore : public Store {
 public:
  WholeStore(std::shared_ptr<Store> store, const std::vector<std::shared_ptr<SimStore>>& members,
             Oracle& oracle)
      : store_(std::move(store)), members_(members), oracle_(oracle) {}

  std::vector<StoredHold> holds(std::string_view process) override;
  std::optional<Carried> carried(std::string_view name) override;

  std::chrono::milliseconds call_limit() const override { return store_->call_limit(); }
  std::string description() const override { return store_->description(); }
  Inspection inspect(std::string_view name, Freshness freshness) override {
    return store_->inspect(name, freshness);
  }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    return store_->claim(name, basis, claim);
  }
  ReleaseResult release(std::string_view name, const Token& ts) override {
    return store_->release(name, ts);
  }
  Members* members() override { return store_->members(); }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    return store_->ping(process, health);
  }
  void remove_ping(std::string_view process) override { store_->remove_ping(process); }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    return store_->forget_pings(age);
  }
  Listing list() override { return store_->list(); }

 private:
  const std::shared_ptr<Store> store_;
  const std::vector<std::shared_ptr<SimStore>> members_;
  Oracle& oracle_;
};

}  // namespace distlock::sim
