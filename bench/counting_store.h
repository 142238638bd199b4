#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "distlock/store.h"

namespace distlock::bench {

/// Another store, with its calls counted.
class CountingStore : public Store {
 public:
  explicit CountingStore(std::shared_ptr<Store> counted) : store_(std::move(counted)) {}

  std::int64_t writes() const { return writes_; }
  std::int64_t reads() const { return reads_; }
  std::int64_t pings() const { return pings_; }

  /// Waits until there have been so many pings.
  void wait_for_pings(std::int64_t count) const {
    for (std::int64_t seen = pings_; seen < count; seen = pings_) pings_.wait(seen);
  }

  std::chrono::milliseconds call_limit() const override { return store_->call_limit(); }
  std::string description() const override { return store_->description(); }
  Inspection inspect(std::string_view name, Freshness freshness) override {
    ++reads_;
    return store_->inspect(name, freshness);
  }
  std::optional<Carried> carried(std::string_view name) override {
    ++reads_;
    return store_->carried(name);
  }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    ++writes_;
    return store_->claim(name, basis, claim);
  }
  ReleaseResult release(std::string_view name, const Token& ts) override {
    ++writes_;
    return store_->release(name, ts);
  }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    return counted(store_->ping(process, health));
  }
  void remove_ping(std::string_view process) override {
    ++writes_;
    store_->remove_ping(process);
  }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    ++writes_;
    return store_->forget_pings(age);
  }
  std::vector<StoredHold> holds(std::string_view process) override {
    ++reads_;
    return store_->holds(process);
  }
  Listing list() override {
    ++reads_;
    return store_->list();
  }

 private:
  PingRecord counted(PingRecord ping) {
    ++writes_;
    ++pings_;
    pings_.notify_all();
    return ping;
  }

  std::shared_ptr<Store> store_;
  std::atomic<std::int64_t> writes_{0};
  std::atomic<std::int64_t> reads_{0};
  std::atomic<std::int64_t> pings_{0};
};

}  // namespace distlock::bench
