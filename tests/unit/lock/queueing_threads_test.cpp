// Waiting behind other threads of the process, step by step (R20, R21).
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <latch>

#include "distlock/error.h"
#include "support/crowd.h"
#include "support/pausing_clock.h"
#include "support/queued.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a thread that comes while a hold may be passed on takes no place in the store's line",
          "[waiting][R20][R21][threads]") {
  PassingScene scene({patient_options()});
  scene.first->give_up();
  const LockRecord hold = scene.second().hold();
  DistributedLock lock(scene.crowd.pinger, "jobs", patient_options());
  const int calls = scene.crowd.store->calls();
  const Queued newcomer(lock);
  comes_to_be([&] { return scene.crowd.clock->waits(newcomer.id); });
  CHECK(scene.crowd.store->calls() == calls);
  scene.second().give_up();
  comes_to_be([&] { return newcomer.got.load(); });
  CHECK(lock.record().ts == hold.ts);
}

TEST_CASE("a hold is not passed on to a lock of another window", "[waiting][R20][R21][threads]") {
  PassingScene scene({patient_options()});
  LockOptions other = patient_options();
  other.takeover_after = GENERATE(16min, 20min);
  DistributedLock lock(scene.crowd.pinger, "jobs", other);
  const Queued newcomer(lock);
  comes_to_be([&] { return scene.crowd.clock->waits(newcomer.id); });
  scene.first->give_up();
  const LockRecord hold = scene.second().hold();
  scene.second().give_up();
  comes_to_be([&] { return newcomer.got.load(); });
  CHECK((lock.record().ts == hold.ts) == (other.takeover_after == 16min));
}

TEST_CASE("no hold is passed on to a thread that is busy with its program or the store",
          "[waiting][R20][R21][threads]") {
  const bool with_program = GENERATE(true, false);
  Crowd crowd;
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  Candidate alone(crowd);
  crowd.wait_for_line(1);
  Candidate first(crowd);
  LockOptions looking = patient_options();
  if (!with_program) looking.deadlock_after = 500ms;
  DistributedLock lock(crowd.pinger, "jobs", looking);
  std::latch busy(1);
  std::latch go_on(1);
  const auto be_busy = [&] {
    busy.count_down();
    go_on.wait();
  };
  if (with_program) lock.on_waiting([&](const WaitReport&) { be_busy(); });
  if (!with_program) crowd.store->before("list_waits", be_busy);
  const Queued behind(lock);
  comes_to_be([&] { return crowd.clock->waits(behind.id); });
  REQUIRE(before.unlock() == UnlockResult::released);
  alone.hold();
  crowd.wait_for_line(1);
  crowd.clock->advance(460ms);
  alone.give_up();
  const LockRecord hold = first.hold();
  comes_to_be([&] { return crowd.clock->waits(behind.id); });
  crowd.clock->advance(40ms);
  comes_to_be([&] { return busy.try_wait(); });
  first.give_up();
  CHECK_FALSE(crowd.stored().taken());
  go_on.count_down();
  comes_to_be([&] { return behind.got.load(); });
  CHECK(lock.record().ts != hold.ts);
}

TEST_CASE("a thread that waits for an object keeps its turn while another thread tries it",
          "[waiting][R20][threads]") {
  Crowd crowd;
  DistributedLock tried(crowd.pinger, "jobs", patient_options());
  DistributedLock other(crowd.pinger, "jobs", patient_options());
  KeptTry trying(crowd, tried);
  {
    const Queued one(tried);
    comes_to_be([&] { return crowd.clock->waits(one.id); });
    const Queued behind(other);
    CHECK_NOTHROW(comes_to_be([&] { return crowd.clock->waits(behind.id); }));
    CHECK(crowd.store->calls("stand") == 0);
    trying.end();
  }
  CHECK(tried.held());
}

TEST_CASE("a thread that held a lock waits in its turn behind another of its process",
          "[waiting][R20][threads]") {
  Crowd crowd;
  const auto store = std::make_shared<FaultyStore>(crowd.inner);
  const auto elsewhere = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = crowd.clock, .process = "q", .random = {}},
      PingerOptions{}, PingerDrive::caller);
  DistributedLock held(elsewhere, "jobs", patient_options());
  DistributedLock lock(crowd.pinger, "jobs", patient_options());
  DistributedLock same(crowd.pinger, "jobs", patient_options());
  std::latch begin(1);
  std::latch had(1);
  std::stop_source stop;
  std::promise<std::thread::id> id;
  boost::thread again([&] {
    if (lock.lock_try("once")) lock.unlock();
    had.count_down();
    begin.wait();
    id.set_value(std::this_thread::get_id());
    (void)lock.lock(stop.get_token());
  });
  had.wait();
  REQUIRE(held.lock_try("x"));
  {
    const Queued first(same);
    crowd.wait_for_line(1);
    begin.count_down();
    const std::thread::id second = id.get_future().get();
    comes_to_be([&] { return crowd.clock->waits(second); });
    CHECK(crowd.stored().line.size() == 1);
    stop.request_stop();
    again.join();
  }
}

TEST_CASE("a hold that is passed on to a wait that a stop ends is released",
          "[waiting][R12][R21][threads]") {
  const auto clock = std::make_shared<PausingClock>();
  Crowd crowd(nullptr, clock);
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  Candidate alone(crowd);
  crowd.wait_for_line(1);
  Candidate first(crowd);
  DistributedLock lock(crowd.pinger, "jobs", patient_options());
  std::promise<std::thread::id> id;
  std::optional<Errc> failure;
  boost::thread behind([&] {
    id.set_value(std::this_thread::get_id());
    failure = thrown_by([&] { return lock.lock(), 0; });
  });
  const std::thread::id last = id.get_future().get();
  comes_to_be([&] { return clock->waits(last); });
  REQUIRE(before.unlock() == UnlockResult::released);
  alone.give_up();
  first.hold();
  const SteadyTime over = clock->steady_now() + 50ms;
  comes_to_be([&] { return clock->waits_until(last) == over; });
  clock->thread = last;
  first.give_up();
  clock->pauses.wait();
  REQUIRE(crowd.stored().taken());
  crowd.pinger->stop();
  clock->go();
  behind.join();
  CHECK(failure == Errc::stopped);
  CHECK_FALSE(crowd.stored().taken());
}

TEST_CASE("a thread that waits for a lost object in its turn only lets others go first",
          "[waiting][R20][threads]") {
  const auto clock = std::make_shared<PausingClock>();
  Crowd crowd(nullptr, clock);
  const auto lost = std::make_shared<DistributedLock>(crowd.pinger, "jobs", patient_options());
  REQUIRE(lost->lock_try("x"));
  REQUIRE(crowd.inner->release("jobs", *lost->record().ts) == ReleaseResult::freed);
  REQUIRE_FALSE(lost->still_held());
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  LockOptions passing_nothing = patient_options();
  passing_nothing.pass_rule = PassRule::never;
  LockOptions looking = patient_options();
  looking.recheck = 1s;
  Candidate first(crowd, passing_nothing);
  Candidate second(crowd, lost);
  Candidate third(crowd, looking);
  // Free before it is the turn of the second.
  lost->unlock();
  clock->thread = second.id;
  before.unlock();
  first.hold();
  clock->pauses.wait();
  clock->advance(1s);
  const auto third_sleeps = [&] {
    return clock->waits_until(third.id) == clock->steady_now() + 1s;
  };
  comes_to_be([&] { return third_sleeps() || !crowd.stored().line.empty(); });
  const std::size_t places = crowd.stored().line.size();
  clock->go();
  CHECK(places == 0);
  crowd.wait_for_line(1);
}

TEST_CASE("a thread that stands in line behind the first of its process is rung",
          "[waiting][R19][R20][threads]") {
  Crowd crowd;
  DistributedLock lost(crowd.pinger, "jobs", patient_options());
  DistributedLock tried(crowd.pinger, "jobs", patient_options());
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  std::latch had(1);
  std::latch begin(1);
  std::promise<std::thread::id> id;
  std::stop_source stop;
  std::atomic<bool> got = false;
  boost::thread stands([&] {
    (void)lost.lock_try("x");
    had.count_down();
    begin.wait();
    id.set_value(std::this_thread::get_id());
    got = lost.lock(stop.get_token());
  });
  had.wait();
  crowd.inner->release("jobs", *lost.record().ts);
  (void)lost.still_held();
  (void)before.lock_try("before");
  KeptTry trying(crowd, tried);
  {
    const Queued first(tried);
    comes_to_be([&] { return crowd.clock->waits(first.id); });
    begin.count_down();
    const std::thread::id second = id.get_future().get();
    crowd.wait_for_line(1);
    comes_to_be([&] { return crowd.clock->waits(second); });
    before.unlock();
    CHECK_NOTHROW(comes_to_be([&] { return got.load(); }));
    stop.request_stop();
    trying.end();
  }
  stands.join();
}
