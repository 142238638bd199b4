#include "stores/memory/memory_store.h"

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>

#include "distlock/stores.h"
#include "fork_guard.h"
#include "stores/memory/memory_bell.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

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

struct MemoryData {
  explicit MemoryData(std::shared_ptr<Clock> given_clock) : clock(std::move(given_clock)) {}

  const MemoryClock clock;
  boost::mutex mutex;
  MemoryTables tables;
  MemoryBell bell;
};

namespace {

class MemoryStore : public Store, private Line {
 public:
  MemoryStore(std::shared_ptr<MemoryData> data, const StoreOptions& options)
      : call_limit_(options.call_limit), data_(std::move(data)) {}

  std::chrono::milliseconds call_limit() const override { return call_limit_; }
  std::string description() const override { return "memory:"; }

  Inspection inspect(std::string_view name, Freshness) override {
    const Guard guard(data_->mutex);
    return data_->tables.inspect(name, data_->clock.now());
  }

  std::optional<Carried> carried(std::string_view name) override {
    const Guard guard(data_->mutex);
    return data_->tables.carried(name);
  }

  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    const Guard guard(data_->mutex);
    return data_->tables.claim(name, basis, claim, data_->clock.now());
  }

  ReleaseResult release(std::string_view name, const Token& ts) override {
    const Guard guard(data_->mutex);
    return data_->tables.release(name, ts, data_->clock.now());
  }

  PingRecord ping(std::string_view process, const PingHealth& health) override {
    const Guard guard(data_->mutex);
    return data_->tables.ping(process, health, data_->clock.now());
  }

  void remove_ping(std::string_view process) override {
    const Guard guard(data_->mutex);
    data_->tables.remove_ping(process);
  }

  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    const Guard guard(data_->mutex);
    return data_->tables.forget_pings(age, data_->clock.now());
  }

  std::vector<StoredHold> holds(std::string_view process) override {
    const Guard guard(data_->mutex);
    return data_->tables.holds(process);
  }

  Listing list() override {
    const Guard guard(data_->mutex);
    return data_->tables.list(data_->clock.now());
  }

  Line* line() override { return this; }

 private:
  Standing stand(std::string_view name, const Claim& claim) override {
    const Guard guard(data_->mutex);
    return data_->tables.stand(name, claim, data_->clock.now());
  }

  void leave(std::string_view name, const Token& ticket) override {
    const Guard guard(data_->mutex);
    data_->tables.leave(name, ticket);
  }

  Freed release_and_tell(std::string_view name, const Token& ts, ReleaseRule /*rule*/) override {
    const Guard guard(data_->mutex);
    return data_->tables.release_and_tell(name, ts, data_->clock.now());
  }

  Listing list_waits(const std::vector<std::string>& names) override {
    const Guard guard(data_->mutex);
    return data_->tables.list_waits(names, data_->clock.now());
  }

  void ring(std::string_view name, const std::vector<std::string>& processes) override {
    data_->bell.ring(name, processes);
  }

  std::shared_ptr<void> listen(std::string_view process, Rung rung) override {
    return data_->bell.listen(process, std::move(rung));
  }

  const std::chrono::milliseconds call_limit_;
  const std::shared_ptr<MemoryData> data_;
};

struct MemoryOfProcess {
  boost::mutex mutex;
  std::weak_ptr<MemoryData> data;
};
PerProcess<MemoryOfProcess> memory_of_this_process;

}  // namespace

OpenedMemoryStore open_memory_store(std::shared_ptr<Clock> clock, const StoreOptions& options) {
  const auto data = std::make_shared<MemoryData>(std::move(clock));
  return {std::make_shared<MemoryStore>(data, options), data->tables};
}

std::shared_ptr<Store> open_memory_of_process(const StoreOptions& options) {
  MemoryOfProcess& memory = memory_of_this_process.get();
  const Guard lock(memory.mutex);
  auto data = memory.data.lock();
  if (!data) memory.data = data = std::make_shared<MemoryData>(host_clock());
  return std::make_shared<MemoryStore>(std::move(data), options);
}

std::shared_ptr<Store> make_memory_store(std::shared_ptr<Clock> clock,
                                         const StoreOptions& options) {
  return open_memory_store(std::move(clock), options).store;
}

}  // namespace distlock
