#include "stores/memory/memory_store.h"

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>

#include "distlock/stores.h"

namespace distlock {
namespace {

// Begins at the wall clock's time and runs on the steady clock, so nobody can step it.
class MemoryClock {
 public:
  explicit MemoryClock(std::shared_ptr<Clock> clock)
      : clock_(std::move(clock)),
        began_(clock_->steady_now()),
        epoch_(clock_->wall_now().time_since_epoch()) {}

  StoreNow now() const {
    const auto elapsed =
        std::chrono::floor<std::chrono::milliseconds>(clock_->steady_now() - began_);
    return {StoreTime{epoch_ + elapsed}, "memory", true};
  }

 private:
  std::shared_ptr<Clock> clock_;
  SteadyTime began_;
  std::chrono::milliseconds epoch_;
};

class MemoryStore : public Store {
 public:
  MemoryStore(std::shared_ptr<Clock> clock, const StoreOptions& options)
      : call_limit_(options.call_limit), clock_(std::move(clock)) {}

  MemoryTables& tables() { return tables_; }

  std::chrono::milliseconds call_limit() const override { return call_limit_; }

  Inspection inspect(std::string_view name, Freshness) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.inspect(name, clock_.now());
  }

  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.claim(name, basis, claim, clock_.now());
  }

  ReleaseResult release(std::string_view name, const Token& ts) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.release(name, ts);
  }

  PingRecord ping(std::string_view process) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.ping(process, clock_.now());
  }

  PingRecord ping_and_report(std::string_view process, const PingHealth& health) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.ping(process, clock_.now(), &health);
  }

  void remove_ping(std::string_view process) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    tables_.remove_ping(process);
  }

  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.forget_pings(age, clock_.now());
  }

  std::vector<StoredHold> holds(std::string_view process) override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.holds(process);
  }

  Listing list() override {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    return tables_.list(clock_.now());
  }

 private:
  const std::chrono::milliseconds call_limit_;
  const MemoryClock clock_;
  boost::mutex mutex_;
  MemoryTables tables_;
};

}  // namespace

OpenedMemoryStore open_memory_store(std::shared_ptr<Clock> clock, const StoreOptions& options) {
  auto store = std::make_shared<MemoryStore>(std::move(clock), options);
  return {store, store->tables()};
}

std::shared_ptr<Store> make_memory_store(std::shared_ptr<Clock> clock,
                                         const StoreOptions& options) {
  return open_memory_store(std::move(clock), options).store;
}

}  // namespace distlock
