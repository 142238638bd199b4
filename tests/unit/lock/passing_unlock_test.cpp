// Late unlocks of holds that were passed on (R21).
#include <algorithm>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>

#include "distlock/distributed_lock.h"
#include "support/crowd.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A lock that another object has. One thread waits for it alone, and those who come after that
/// thread get it by passes.
struct Passed {
  Passed() {
    REQUIRE(taken);
    crowd.wait_for_line(1);
  }

  /// The first of those who wait gets it.
  void let_go() {
    before.unlock();
    alone.hold();
    crowd.wait_for_line(1);
    alone.give_up();
  }

  Crowd crowd;
  DistributedLock before{crowd.pinger, "jobs", patient_options()};
  const bool taken = before.lock_try("before");
  Candidate alone{crowd};
  const std::shared_ptr<DistributedLock> shared =
      std::make_shared<DistributedLock>(crowd.pinger, "jobs", patient_options());
};

}  // namespace

TEST_CASE("a late unlock by ts frees no hold that the same object got by a pass",
          "[waiting][R3][R21][threads]") {
  Passed scene;
  const auto& shared = scene.shared;
  Candidate one(scene.crowd, shared);
  Candidate other(scene.crowd, shared);
  scene.let_go();
  const LockRecord early = one.hold();
  one.give_up();
  REQUIRE(other.hold().ts == early.ts);
  CHECK(other.hold().fence == early.fence + 1);
  CHECK(shared->unlock(*early.ts) == UnlockResult::not_ours);
  CHECK(shared->unlock(early) == UnlockResult::not_ours);
  CHECK(shared->held());
  SECTION("and one by the record does") {
    CHECK(shared->unlock(other.hold()) == UnlockResult::released);
  }
  SECTION("and one by the thread that has it does") {
    other.unlock = [&] { return shared->unlock(*early.ts); };
    CHECK(other.give_up() == UnlockResult::released);
  }
  CHECK_FALSE(shared->held());
}

TEST_CASE("a late unlock by ts frees no hold that has come back by way of another object",
          "[waiting][R3][R21][threads]") {
  Passed scene;
  const auto& shared = scene.shared;
  Candidate one(scene.crowd, shared);
  Candidate between(scene.crowd);
  Candidate again(scene.crowd, shared);
  scene.let_go();
  const LockRecord early = one.hold();
  one.give_up();
  REQUIRE(between.hold().ts == early.ts);
  between.give_up();
  REQUIRE(again.hold().ts == early.ts);
  CHECK(shared->unlock(*early.ts) == UnlockResult::not_ours);
  CHECK(shared->held());
}

TEST_CASE("a guard of an earlier hold leaves its thread's next one, which came by passes",
          "[waiting][R3][R21][threads]") {
  Passed scene;
  Crowd& crowd = scene.crowd;
  DistributedLock& lock = *scene.shared;
  std::promise<std::thread::id> id;
  std::promise<void> go_on;
  std::promise<bool> kept;
  boost::thread guarding([&] {
    id.set_value(std::this_thread::get_id());
    {
      const dist_lock early(lock, std::stop_token{});
      go_on.get_future().wait();
      lock.unlock();
      lock.lock();
    }
    kept.set_value(lock.held());
  });
  const std::thread::id thread = id.get_future().get();
  comes_to_be([&] { return crowd.clock->waits(thread); });
  Candidate second(crowd);
  scene.let_go();
  // Until when the hold of the guard may be passed on.
  const SteadyTime over = crowd.clock->steady_now() + 50ms;
  comes_to_be([&] { return crowd.clock->waits_until(second.id) == over; });
  go_on.set_value();
  second.hold();
  comes_to_be([&] { return crowd.clock->waits(thread); });
  second.give_up();
  CHECK(kept.get_future().get());
  guarding.join();
}
