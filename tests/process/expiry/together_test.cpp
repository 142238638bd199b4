// Holds that run out in the same moment: all of one process, by one ping that did not come.
#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "process/expiry/expiries.h"
#include "support/faulty_store.h"
#include "support/still_clock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto kPatience = 120s;

/// A store that refuses pings when the test says so.
class Pinged : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  PingRecord ping(std::string_view process, const PingHealth& health) override {
    if (refusing) throw Error(Errc::not_applied, "no ping now, says the test");
    return FaultyStore::ping(process, health);
  }

  std::atomic<bool> refusing = false;
};

template <class Condition>
bool comes_true(const Condition& condition) {
  const auto until = host_clock()->steady_now() + kPatience;
  while (!condition()) {
    if (host_clock()->steady_now() > until) return false;
    boost::this_thread::yield();
  }
  return true;
}

struct World {
  std::shared_ptr<DistributedLockPinger> pinger_on(const std::shared_ptr<Store>& handle) const {
    return std::make_shared<DistributedLockPinger>(Environment{.store = handle, .clock = clock},
                                                   PingerOptions{.ping_every = 100ms});
  }

  const Lease lease;
  std::shared_ptr<Clock> clock = host_clock();
  std::shared_ptr<Store> inner = make_memory_store(clock, {.call_limit = lease.call_limit});
  std::shared_ptr<Pinged> store = std::make_shared<Pinged>(inner);
  std::shared_ptr<DistributedLockPinger> pinger = pinger_on(store);
};

/// Holds run out when the test says so, and not because the machine stands still.
struct StillWorld {
  const std::shared_ptr<StillClock> clock = std::make_shared<StillClock>();
  World world{kShortLease, clock};
};

/// One lock object and what becomes of its holds.
class Holder {
 public:
  Holder(const World& world, int number)
      : lock_(std::make_unique<DistributedLock>(
            world.pinger, "together." + std::to_string(number),
            LockOptions{.takeover_after = world.lease.takeover_after})) {
    lock_->on_lost([told = told_, gone = gone_, late = late_](LossReason) {
      ++*told;
      if (*gone) ++*late;
    });
  }

  bool claim() {
    if (!lock_->lock_try("x")) return false;
    tokens_.push_back(lock_->stop_token());
    return true;
  }
  DistributedLock& lock() { return *lock_; }
  void destroy() {
    lock_.reset();
    *gone_ = true;
  }

  int told() const { return *told_; }
  int told_late() const { return *late_; }
  bool newest_token_is_stopped() const { return tokens_.back().stop_requested(); }
  int tokens_stopped() const {
    return static_cast<int>(std::count_if(
        tokens_.begin(), tokens_.end(), [](const auto& token) { return token.stop_requested(); }));
  }

 private:
  std::shared_ptr<std::atomic<int>> told_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<int>> late_ = std::make_shared<std::atomic<int>>(0);
  std::vector<std::stop_token> tokens_;
  std::unique_ptr<DistributedLock> lock_;
};

bool run_out(StillWorld& still, std::deque<Holder>& holders) {
  still.world.store->refusing = true;
  still.clock->advance(kShortLease.takeover_after);
  const bool over = std::none_of(holders.begin(), holders.end(),
                                 [](Holder& holder) { return holder.lock().held(); });
  still.world.store->refusing = false;
  return over;
}

/// When each hold's token was stopped, and when a rival sent the claim that got its lock.
struct Fate {
  std::atomic<std::int64_t> stopped{0};
  SteadyTime claimed;
};

std::int64_t now() { return host_clock()->steady_now().time_since_epoch().count(); }

}  // namespace

TEST_CASE("of holds that run out together and are locked again at once each loss is told once",
          "[process][lifetime][R9]") {
  StillWorld still;
  std::deque<Holder> holders;
  for (int i = 0; i < 200; ++i) holders.emplace_back(still.world, i);
  for (Holder& holder : holders) REQUIRE(holder.claim());
  for (int losses = 1; losses <= 4; ++losses) {
    REQUIRE(run_out(still, holders));
    for (Holder& holder : holders) REQUIRE(holder.claim());
    for (Holder& holder : holders) {
      REQUIRE(comes_true([&] { return holder.told() == losses; }));
      CHECK(holder.tokens_stopped() == losses);
      CHECK_FALSE(holder.newest_token_is_stopped());
      CHECK(holder.lock().held());
    }
  }
}

TEST_CASE("of holds that run out together and are unlocked at once each loss is told once",
          "[process][lifetime][R9]") {
  StillWorld still;
  std::deque<Holder> holders;
  for (int i = 0; i < 200; ++i) holders.emplace_back(still.world, i);
  for (int losses = 1; losses <= 3; ++losses) {
    for (Holder& holder : holders) REQUIRE(holder.claim());
    REQUIRE(run_out(still, holders));
    for (Holder& holder : holders) holder.lock().unlock();
    for (Holder& holder : holders) {
      REQUIRE(comes_true([&] { return holder.told() == losses; }));
      CHECK(holder.tokens_stopped() == losses);
    }
  }
}

TEST_CASE("of holds that run out together and are destroyed at once none is told afterwards",
          "[process][lifetime][R9]") {
  for (int turn = 0; turn < 3; ++turn) {
    StillWorld still;
    std::deque<Holder> holders;
    for (int i = 0; i < 500; ++i) holders.emplace_back(still.world, i);
    for (Holder& holder : holders) REQUIRE(holder.claim());
    REQUIRE(run_out(still, holders));
    for (Holder& holder : holders) {
      holder.destroy();
      CHECK(holder.told() == 1);
    }
    still.world.pinger.reset();
    for (const Holder& holder : holders) {
      CHECK(holder.told() == 1);
      CHECK(holder.told_late() == 0);
      CHECK(holder.newest_token_is_stopped());
    }
  }
}

TEST_CASE("of 20,000 holds that run out together each is told before a rival claims its lock",
          "[process][lifetime][R9]") {
  constexpr int kHolds = 20'000;
  World world{kLongLease};
  std::deque<Holder> holders;
  std::deque<Fate> fates(kHolds);
  std::deque<std::stop_callback<std::function<void()>>> watches;
  for (int i = 0; i < kHolds; ++i) {
    REQUIRE(holders.emplace_back(world, i).claim());
    watches.emplace_back(holders.back().lock().stop_token(),
                         [&fate = fates[i]] { fate.stopped = now(); });
  }
  world.store->refusing = true;
  const auto rivals = world.pinger_on(world.inner);
  std::deque<DistributedLock> contenders;
  for (int i = 0; i < kHolds; ++i) {
    contenders.emplace_back(rivals, "together." + std::to_string(i),
                            LockOptions{.takeover_after = kLongLease.takeover_after});
  }
  std::vector<int> open(kHolds);
  for (int i = 0; i < kHolds; ++i) open[i] = i;
  const auto claims = [&](int i) {
    fates[i].claimed = host_clock()->steady_now();
    return contenders[i].lock_try("y");
  };
  REQUIRE(comes_true([&] {
    std::erase_if(open, claims);
    return open.empty();
  }));
  int before_their_holders = 0;
  for (const Fate& fate : fates) {
    const std::int64_t stopped = fate.stopped;
    if (stopped == 0 || stopped >= fate.claimed.time_since_epoch().count()) ++before_their_holders;
  }
  CHECK(before_their_holders == 0);
  for (const Holder& holder : holders) REQUIRE(comes_true([&] { return holder.told() == 1; }));
}
