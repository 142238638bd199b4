// A hold that comes to a wait just as that fails (R15, R21).
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>

#include "distlock/error.h"
#include "support/crowd.h"
#include "support/queued.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Does something when one thread asks it for the time, once.
class AskedClock : public StillClock {
 public:
  SteadyTime steady_now() const override {
    std::thread::id asks = std::this_thread::get_id();
    if (thread.compare_exchange_strong(asks, std::thread::id())) then();
    return StillClock::steady_now();
  }

  mutable std::atomic<std::thread::id> thread;
  std::function<void()> then;
};

/// Of those who judge alike, only the first stands in the store's line.
LockOptions judging_otherwise() {
  LockOptions options = patient_options();
  options.max_clock_skew = 1s;
  options.poll_min = options.poll_max = 5min;
  return options;
}

LockOptions impatient() {
  LockOptions options = judging_otherwise();
  options.recheck = 10ms;
  options.store_patience = 0ms;
  return options;
}

/// `holder` holds by a claim for several, and may pass that on for 50 ms. `heir` waits behind a
/// thread for which the store fails, and looks at that after 10 ms. `next` waits behind the holder.
struct FailingFront {
  FailingFront() {
    DistributedLock before(crowd.pinger, "jobs", patient_options());
    REQUIRE(before.lock_try("before"));
    fail_but_for(std::this_thread::get_id());
    front = std::make_unique<Queued>(front_lock);
    comes_to_be([&] { return clock->waits(front->id); });
    fail_for(front->id);
    holder = std::make_unique<Candidate>(crowd);
    crowd.wait_for_line(1);
    heir = std::make_unique<Candidate>(crowd, impatient());
    next = std::make_unique<Candidate>(crowd);
    // Else it might hear of the failure at once.
    comes_to_be([&] { return heir->rests(*clock); });
    REQUIRE(before.unlock() == UnlockResult::released);
    hold = holder->hold();
    REQUIRE(crowd.stored().fence > hold.fence);
    // Rung by the release, the thread in front has failed since the heir came.
    comes_to_be([&] { return failures > 0 && clock->waits(front->id); });
  }
  ~FailingFront() { crowd.store->during_each_call({}); }
  FailingFront(const FailingFront&) = delete;
  FailingFront& operator=(const FailingFront&) = delete;

  void fail_but_for(std::thread::id thread) const {
    crowd.store->during_each_call([thread](const std::string&) {
      if (std::this_thread::get_id() != thread) throw Error(Errc::not_applied, "away");
    });
  }
  void fail_for(std::thread::id thread) {
    crowd.store->during_each_call([this, thread](const std::string&) {
      if (std::this_thread::get_id() != thread) return;
      ++failures;
      throw Error(Errc::not_applied, "away");
    });
  }

  const std::shared_ptr<AskedClock> clock = std::make_shared<AskedClock>();
  std::atomic<int> failures = 0;
  Crowd crowd{nullptr, clock};
  DistributedLock front_lock{crowd.pinger, "jobs", judging_otherwise()};
  LockRecord hold;
  std::unique_ptr<Queued> front;
  std::unique_ptr<Candidate> next;
  std::unique_ptr<Candidate> heir;
  std::unique_ptr<Candidate> holder;
};

}  // namespace

TEST_CASE("a hold that comes to a wait which fails is released, and others wait for no pass",
          "[waiting][R15][R21][threads]") {
  FailingFront scene;
  UnlockResult given_up = UnlockResult::pending;
  // Just when the heir has seen that no hold was passed on to it.
  scene.clock->then = [&] { given_up = scene.holder->give_up(); };
  scene.clock->thread = scene.heir->id;
  scene.clock->advance(10ms);
  CHECK(thrown_by([&] { return scene.heir->hold(); }) == Errc::not_applied);
  CHECK(given_up == UnlockResult::released);
  CHECK(scene.next->hold().ts != scene.hold.ts);
}
