#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <random>

#include "distlock/error.h"
#include "distlock/store.h"

namespace faults {

/// A store that fails now and then: before a call has any effect, or after it, and it does not say
/// which. For the store in memory, which has no network in between.
class UnrulyStore : public distlock::Store {
  static constexpr int kOneIn = 50;

  bool chance() {
    const std::lock_guard lock(mutex_);
    return unruly_ && std::uniform_int_distribution<>(1, kOneIn)(random_) == 1;
  }

  template <class Call>
  auto through(const Call& call) {
    using distlock::Errc, distlock::Error;
    if (cut_ || chance()) throw Error(Errc::not_applied, "the store is unruly");
    auto result = call();
    // An answer on its way is lost as well when the network is cut.
    if (cut_ || chance()) throw Error(Errc::outcome_unknown, "the store is unruly");
    return result;
  }

 public:
  UnrulyStore(std::shared_ptr<distlock::Store> inner, unsigned seed)
      : inner_(std::move(inner)), random_(seed) {}

  /// Whether nothing comes through any more, as with a cut network.
  void cut(bool now) { cut_ = now; }
  /// From now on it is as good as what is inside.
  void behave() { unruly_ = false; }

  std::chrono::milliseconds call_limit() const override { return inner_->call_limit(); }
  std::string description() const override { return inner_->description(); }
  distlock::Inspection inspect(std::string_view name, distlock::Freshness freshness) override {
    return through([&] { return inner_->inspect(name, freshness); });
  }
  std::optional<distlock::Carried> carried(std::string_view name) override {
    return through([&] { return inner_->carried(name); });
  }
  std::optional<distlock::LockRecord> claim(std::string_view name,
                                            const distlock::ClaimBasis& basis,
                                            const distlock::Claim& claim) override {
    return through([&] { return inner_->claim(name, basis, claim); });
  }
  distlock::ReleaseResult release(std::string_view name, const distlock::Token& ts) override {
    return through([&] { return inner_->release(name, ts); });
  }
  distlock::PingRecord ping(std::string_view process, const distlock::PingHealth& health) override {
    return through([&] { return inner_->ping(process, health); });
  }
  void remove_ping(std::string_view process) override {
    through([&] {
      inner_->remove_ping(process);
      return true;
    });
  }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    return through([&] { return inner_->forget_pings(age); });
  }
  std::vector<distlock::StoredHold> holds(std::string_view process) override {
    return through([&] { return inner_->holds(process); });
  }
  distlock::Listing list() override {
    return through([&] { return inner_->list(); });
  }

 private:
  std::shared_ptr<distlock::Store> inner_;
  std::mutex mutex_;
  std::minstd_rand random_;
  std::atomic<bool> cut_ = false;
  std::atomic<bool> unruly_ = true;
};

}  // namespace faults
