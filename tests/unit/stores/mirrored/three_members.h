#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "distlock/stores.h"
#include "stores/memory/memory_store.h"
#include "support/faulty_store.h"
#include "support/idle_clock.h"

namespace distlock::testing {

/// Holds calls up until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_for(std::size_t calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_ || arrived_ >= calls; });
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_ = 0;
  bool open_ = false;
};

/// Opens it, however the test ends: the store of a test waits for its calls.
struct OpenedAtLast {
  Gate& gate;
  ~OpenedAtLast() { gate.open(); }
};

/// Three memory stores with a short call limit, and a mirrored store over them.
struct ThreeMembers {
  std::vector<OpenedMemoryStore> stores;
  std::vector<std::shared_ptr<FaultyStore>> members;
  std::shared_ptr<Store> store;

  explicit ThreeMembers(std::chrono::milliseconds call_limit = std::chrono::seconds{1},
                        int number = 3, const std::shared_ptr<Clock>& clock = host_clock()) {
    std::vector<std::shared_ptr<Store>> given;
    for (int i = 0; i < number; ++i) {
      stores.push_back(open_memory_store(clock, StoreOptions{.call_limit = call_limit}));
      members.push_back(std::make_shared<FaultyStore>(stores.back().store));
      given.push_back(members.back());
    }
    store = make_mirrored_store(given, clock);
    static_cast<void>(store->list());
  }
  void empty(std::size_t member) { stores[member].tables.clear(); }
};

/// The same by a clock that counts the waits for members that hang, and passes them at once.
struct ThreeIdle : ThreeMembers {
  explicit ThreeIdle(const std::shared_ptr<IdleClock>& its_clock = std::make_shared<IdleClock>())
      : ThreeMembers(std::chrono::seconds{1}, 3, its_clock), clock(its_clock) {}

  /// How often a call was waited for until its limit.
  std::int64_t waits() const { return clock->waited() / (store->call_limit() / 2); }

  /// Waits for the answers that no call waits for.
  static void settle() {
    while (!others_rest()) std::this_thread::yield();
  }

  std::shared_ptr<IdleClock> clock;
};

inline Claim claim_of(Store& store, const Token& ts) {
  Claim claim{.process = "ann",
              .who = "ann:1:2",
              .why = "x",
              .ts = ts,
              .takeover_after = std::chrono::minutes{16}};
  claim.cutoff = store.list().now;
  claim.cutoff.time += std::chrono::seconds{60};
  return claim;
}

}  // namespace distlock::testing
