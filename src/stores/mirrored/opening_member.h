#pragma once

#include <boost/thread/mutex.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/store.h"

namespace distlock::mirrored {

/// A member that may be away when the mirrored store is opened. Calls try to open it, until it is
/// there. Between two tries, and during one of another thread, they fail at once. After a failure
/// that another try need not mend the next one comes later. A member whose file was replaced is
/// away for longer than a call of the mirrored store takes (M6), and is opened anew then.
///
/// Errors: those of the store, and of its opening; `not_applied` where its file was replaced.
class OpeningMember : public Store {
  template <class Operation>
  auto in_store(const Operation& operation) {
    const std::shared_ptr<Store> store = opened_for_call();
    try {
      return operation(*store);
    } catch (const Error& error) {
      tell(error, false);
      if (error.errc() != Errc::store_replaced) throw;
      replaced(store, error.what());
    }
  }

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
  std::shared_ptr<Store> opened();
  /// From now on the log tells of faults that waiting does not mend, each kind of them once.
  void tell_faults();

  std::chrono::milliseconds call_limit() const override { return call_limit_; }
  std::string description() const override { return description_; }
  Inspection inspect(std::string_view name, Freshness freshness) override {
    return in_store([&](Store& store) { return store.inspect(name, freshness); });
  }
  std::optional<Carried> carried(std::string_view name) override {
    return in_store([&](Store& store) { return store.carried(name); });
  }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    return in_store([&](Store& store) { return store.claim(name, basis, claim); });
  }
  ReleaseResult release(std::string_view name, const Token& ts) override {
    return in_store([&](Store& store) { return store.release(name, ts); });
  }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    return in_store([&](Store& store) { return store.ping(process, health); });
  }
  void remove_ping(std::string_view process) override {
    in_store([&](Store& store) { store.remove_ping(process); });
  }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    return in_store([&](Store& store) { return store.forget_pings(age); });
  }
  std::vector<StoredHold> holds(std::string_view process) override {
    return in_store([&](Store& store) { return store.holds(process); });
  }
  Listing list() override {
    return in_store([](Store& store) { return store.list(); });
  }

 private:
  /// Leaves that store alone, and throws that the member is away.
  [[noreturn]] void replaced(const std::shared_ptr<Store>& store, const std::string& what);
  std::shared_ptr<Store> opened_for_call();
  void tell(const Error& error, bool of_opening);
  std::shared_ptr<Store> begin();
  void end(std::shared_ptr<Store> store, std::optional<Error> failure);

  const Open open_;
  const std::chrono::milliseconds call_limit_;
  const std::string description_;
  const std::shared_ptr<Clock> clock_;

  boost::mutex mutex_;
  // Guarded by `mutex_`. Once there, `store_` stays until it is replaced.
  std::shared_ptr<Store> store_;
  bool opening_ = false;
  std::optional<Error> failure_;  ///< Of the last try.
  SteadyTime next_try_{};
  bool tells_faults_ = false;
  std::set<Errc> told_;
};

}  // namespace distlock::mirrored
