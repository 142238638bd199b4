#pragma once

#include <boost/thread/mutex.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/store.h"

namespace distlock::mirrored {

/// A member that may be away when the mirrored store is opened. Calls try to open it, until it is
/// there. Between two tries, and during one of another thread, they fail at once.
///
/// Errors: those of the store, and of its opening.
class OpeningMember : public Store {
 public:
  using Open = std::function<std::shared_ptr<Store>()>;

  /// `open` may throw Error. `call_limit` is that of the store that it gives.
  OpeningMember(Open open, std::chrono::milliseconds call_limit, std::string description,
                std::shared_ptr<Clock> clock)
      : open_(std::move(open)),
        call_limit_(call_limit),
        description_(std::move(description)),
        clock_(std::move(clock)) {}

  /// The store, opened now if need be.
  Store& opened();

  std::chrono::milliseconds call_limit() const override { return call_limit_; }
  std::string description() const override { return description_; }
  Inspection inspect(std::string_view name, Freshness freshness) override {
    return opened().inspect(name, freshness);
  }
  std::optional<Carried> carried(std::string_view name) override { return opened().carried(name); }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    return opened().claim(name, basis, claim);
  }
  ReleaseResult release(std::string_view name, const Token& ts) override {
    return opened().release(name, ts);
  }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    return opened().ping(process, health);
  }
  void remove_ping(std::string_view process) override { opened().remove_ping(process); }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    return opened().forget_pings(age);
  }
  std::vector<StoredHold> holds(std::string_view process) override {
    return opened().holds(process);
  }
  Listing list() override { return opened().list(); }

 private:
  bool begin();
  void end(std::shared_ptr<Store> store, std::optional<Error> failure);

  const Open open_;
  const std::chrono::milliseconds call_limit_;
  const std::string description_;
  const std::shared_ptr<Clock> clock_;

  boost::mutex mutex_;
  // Guarded by `mutex_`. Once there, `store_` stays.
  std::shared_ptr<Store> store_;
  bool opening_ = false;
  std::optional<Error> failure_;  ///< Of the last try.
  SteadyTime next_try_{};
};

}  // namespace distlock::mirrored
