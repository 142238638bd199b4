// Waiting behind other threads of the process (R20).
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <latch>

#include "distlock/error.h"
#include "support/crowd.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A thread that waits for a lock object until it has the lock, or the test is over.
class Queued {
 public:
  explicit Queued(DistributedLock& given) : lock_(given) {
    thread_ = boost::thread([this] {
      started_.set_value(std::this_thread::get_id());
      got = lock_.lock(no_more_.get_token());
    });
    id = started_.get_future().get();
  }
  ~Queued() {
    no_more_.request_stop();
    thread_.join();
  }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;

  std::thread::id id;
  std::atomic<bool> got = false;

 private:
  DistributedLock& lock_;
  std::promise<std::thread::id> started_;
  std::stop_source no_more_;
  boost::thread thread_;
};

}  // namespace

TEST_CASE("a wait in line with a reason that is too long calls no store", "[waiting][R14][R17]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  const auto wait = [&] { return lock->try_lock_for(1min, {}, "not \xff UTF-8"); };
  CHECK(thrown_by(wait) == Errc::invalid_argument);
  CHECK(a.store->calls() == 0);
}

TEST_CASE("a wait for an object that another thread holds ends by its deadline and takes nothing",
          "[waiting][R15][R20]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bool got = true;
  boost::thread([&] { got = lock->try_lock_for(1min); }).join();
  CHECK_FALSE(got);
  CHECK(fleet.clock->waited() == 1min);
  CHECK(lock->held());
  CHECK(a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a wait for an object whose hold runs out ends by its deadline", "[waiting][R15][R20]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bool got = true;
  boost::thread([&] { got = lock->try_lock_for(1h); }).join();
  CHECK_FALSE(got);
  CHECK(fleet.clock->waited() == 1h);
}

TEST_CASE("a thread that waits behind another asks a store that fails at its pauses only",
          "[waiting][R15][R20]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bool told = false;
  lock->on_waiting([&](const WaitReport& report) { told = !report.failure.empty(); });
  a.store->forget_calls();
  a.store->fail("inspect", Fault::rejected, 1000);
  boost::thread([&] { (void)lock->try_lock_for(1min); }).join();
  CHECK(told);
  CHECK(a.store->calls("inspect") >= 2);
  CHECK(a.store->calls("inspect") <= 21);
}

TEST_CASE("a stop while a wait behind another is told lets it look for no deadlock",
          "[waiting][R15][R22]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("jobs", {.deadlock_after = 500ms});
  REQUIRE(lock->lock_try("x"));
  std::stop_source stop;
  lock->on_waiting([&](const WaitReport&) { stop.request_stop(); });
  bool got = true;
  boost::thread([&] { got = lock->lock(stop.get_token()); }).join();
  CHECK_FALSE(got);
  CHECK(a.store->calls("list") == 0);
  CHECK(fleet.clock->waited() == 500ms);
}

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
  if (!with_program) crowd.store->before("list", be_busy);
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
  std::latch looks(1);
  std::latch go_on(1);
  crowd.store->before("inspect", [&] {
    looks.count_down();
    go_on.wait();
  });
  boost::thread trying([&] { (void)tried.lock_try("x"); });
  looks.wait();
  {
    const Queued one(tried);
    comes_to_be([&] { return crowd.clock->waits(one.id); });
    const Queued behind(other);
    CHECK_NOTHROW(comes_to_be([&] { return crowd.clock->waits(behind.id); }));
    CHECK(crowd.store->calls("stand") == 0);
    go_on.count_down();
    trying.join();
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
  CHECK(crowd.stored().line.empty());
}
