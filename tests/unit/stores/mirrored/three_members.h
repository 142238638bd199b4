#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "distlock/stores.h"
#include "support/faulty_store.h"

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
    changed_.wait(lock, [&] { return arrived_ >= calls; });
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

/// Three memory stores with a short call limit, and a mirrored store over them.
struct ThreeMembers {
  std::vector<std::shared_ptr<FaultyStore>> members;
  std::shared_ptr<Store> store;

  explicit ThreeMembers(std::chrono::milliseconds call_limit = std::chrono::seconds{1},
                        int number = 3) {
    std::vector<std::shared_ptr<Store>> given;
    for (int i = 0; i < number; ++i) {
      members.push_back(std::make_shared<FaultyStore>(
          make_memory_store(host_clock(), StoreOptions{.call_limit = call_limit})));
      given.push_back(members.back());
    }
    store = make_mirrored_store(given);
    static_cast<void>(store->list());
  }
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
