#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/store.h"
#include "distlock/stores.h"
#include "stores/memory/memory_store.h"
#include "support/faulty_store.h"
#include "support/manual_clock.h"

namespace distlock::testing {

/// How long a ping keeps a hold valid, with the default options (R9).
constexpr auto kValidByPing =
    std::chrono::minutes{16} - std::chrono::seconds{70} - std::chrono::milliseconds{960};

/// One process of a fleet: its own handle on the store, which can be made to fail, and a pinger
/// that pings when the test says so.
template <class Handle>
struct ProcessWith {
  std::shared_ptr<Handle> store;
  std::shared_ptr<DistributedLockPinger> pinger;

  std::unique_ptr<DistributedLock> lock(const std::string& name,
                                        const LockOptions& options = {}) const {
    return std::make_unique<DistributedLock>(pinger, name, options);
  }
};

using Process = ProcessWith<FaultyStore>;

/// Processes that share one memory store and one clock.
class Fleet {
 public:
  Process process(const std::string& name, const PingerOptions& options = {}) {
    return process_with(std::make_shared<FaultyStore>(store), name, options);
  }

  /// A process whose handle on the store is of another kind.
  template <class Handle>
  ProcessWith<Handle> process_with(std::shared_ptr<Handle> handle, const std::string& name,
                                   const PingerOptions& options = {}) {
    // Several threads may draw.
    auto state = std::make_shared<std::atomic<std::uint64_t>>(std::hash<std::string>{}(name));
    const auto random = [state = std::move(state)] {
      std::uint64_t last = *state;
      const auto next = [&] { return last * 6364136223846793005ULL + 1442695040888963407ULL; };
      while (!state->compare_exchange_weak(last, next())) continue;
      return next();
    };
    const Environment environment{.store = handle,
                                  .clock = clock,
                                  .process = name,
                                  .random = random,
                                  .label = {},
                                  .outer_holds = outer_holds};
    return {handle,
            std::make_shared<DistributedLockPinger>(environment, options, PingerDrive::caller)};
  }

  /// A claim as a process sends it that the library does not run, with an hour to arrive.
  Claim claim_by(const std::string& thread, const Token& ts) {
    const StoreNow now = store->list().now;
    return {.process = thread,
            .who = thread + ":1",
            .why = "work",
            .ts = ts,
            .takeover_after = std::chrono::minutes{16},
            .cutoff = {now.time + std::chrono::hours{1}, now.clock}};
  }

  /// A hold that this process states, and that no part of it knows of.
  void put_stray(const std::string& process, const std::string& name, const Token& ts) {
    store->claim(name, FromAbsent{}, claim_by(process, ts)).value();
  }

  LockRecord stored(const std::string& name) {
    return store->inspect(name, Freshness::fresh).lock.value();
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  OpenedMemoryStore memory = open_memory_store(clock, {});
  std::shared_ptr<Store> store = memory.store;
  std::vector<Token> outer_holds;  ///< Of the processes that are made from now on.
};

}  // namespace distlock::testing
