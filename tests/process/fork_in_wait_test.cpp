// A process that is forked in the middle of a wait (R16).
#include <sys/wait.h>
#include <unistd.h>

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "fork_guard.h"
#include "support/busy_threads.h"
#include "support/leave.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// The host's clock. The thread that began forks at each of its waits, up to 60 times.
class ForkingClock : public Clock {
 public:
  void begin() { forking_ = true; }
  void end() { forking_ = false; }

  SteadyTime steady_now() const override { return host_->steady_now(); }
  WallTime wall_now() const override { return host_->wall_now(); }
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    const bool came = host_->wait_until(until, stop);
    if (!forking_ || children == 60 || failed > 0) return came;
    ++children;
    const pid_t child = fork();
    if (child == 0) {
      forking_ = false;
      alarm(60);
      return came;
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) ++failed;
    return came;
  }

  int children = 0;
  int failed = 0;

 private:
  const std::shared_ptr<Clock> host_ = host_clock();
  static thread_local bool forking_;
};

thread_local bool ForkingClock::forking_ = false;

/// The host's clock. A child that waits by it ends.
class ClockOfParent : public Clock {
 public:
  SteadyTime steady_now() const override { return host_->steady_now(); }
  WallTime wall_now() const override { return host_->wall_now(); }
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    if (guard_.in_child()) leave(3);
    return host_->wait_until(until, stop);
  }

 private:
  const std::shared_ptr<Clock> host_ = host_clock();
  const ForkGuard guard_;
};

/// Threads do again and again what takes the mutexes that a wait meets at its end: they claim, wait
/// and free, ask for losses, and listen to the wait's stop token.
void keep_busy(BusyThreads& busy, const std::shared_ptr<DistributedLockPinger>& pinger,
               const DistributedLock& held, std::stop_token of_the_wait) {
  busy.again([lock = std::make_shared<DistributedLock>(pinger, "busy")] {
    if (lock->lock_try("x")) lock->unlock();
    if (lock->try_lock_for(1min)) lock->unlock();
  });
  busy.again([&held] { (void)held.lost(); });
  busy.again(
      [token = std::move(of_the_wait)] { const std::stop_callback listening(token, [] {}); });
}

}  // namespace

TEST_CASE("a child that is forked in the middle of a wait leaves the wait",
          "[process][R16][forks]") {
  const pid_t parent = getpid();
  const auto clock = std::make_shared<ForkingClock>();
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = make_memory_store(), .clock = clock}, PingerOptions{},
      PingerDrive::caller);
  DistributedLock held(pinger, "jobs");
  REQUIRE(held.lock_try("x"));
  const std::stop_source stop;
  BusyThreads busy;
  keep_busy(busy, pinger, held, stop.get_token());
  DistributedLock waits(pinger, "jobs",
                        {.poll_min = 5ms,
                         .poll_max = 10ms,
                         .wait_rule = GENERATE(WaitRule::in_line, WaitRule::polling),
                         .recheck = 10ms});
  clock->begin();
  bool got = false;
  const bool forked =
      thrown_by([&] { return got = waits.try_lock_for(5s, stop.get_token()); }) == Errc::forked;
  // A child whose wait was over anyway is told nothing.
  if (getpid() != parent) leave(got ? 1 : 0);
  clock->end();
  CHECK_FALSE(forked);
  CHECK(clock->children > 0);
  CHECK(clock->failed == 0);
}

TEST_CASE("a child that is forked in the middle of a wait for a pass leaves the wait",
          "[process][R16][R21][forks]") {
  const pid_t parent = getpid();
  const auto clock = std::make_shared<ForkingClock>();
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = make_memory_store(), .clock = clock}, PingerOptions{},
      PingerDrive::caller);
  std::stop_source stop;
  boost::thread_group others;
  for (int i = 0; i < 3; ++i) {
    others.create_thread([&] {
      DistributedLock lock(pinger, "jobs");
      while (!stop.stop_requested()) {
        lock.lock();
        lock.unlock();
      }
    });
  }
  DistributedLock waits(pinger, "jobs");
  clock->begin();
  const bool forked = thrown_by([&] {
                        while (clock->children < 60 && clock->failed == 0) {
                          waits.lock();
                          if (getpid() != parent) leave(1);
                          waits.unlock();
                        }
                        return 0;
                      }) == Errc::forked;
  if (getpid() != parent) leave(forked ? 0 : 2);
  clock->end();
  stop.request_stop();
  others.join_all();
  CHECK_FALSE(forked);
  CHECK(clock->failed == 0);
}

TEST_CASE("a child that is forked by on_waiting() waits no more", "[process][R16][forks]") {
  const ForkGuard parent;
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = make_memory_store(), .clock = std::make_shared<ClockOfParent>()},
      PingerOptions{}, PingerDrive::caller);
  DistributedLock held(pinger, "jobs");
  REQUIRE(held.lock_try("x"));
  LockOptions options{.recheck = 10ms};
  boost::thread in_front;
  std::stop_source stop;
  DistributedLock first(pinger, "jobs", options);
  SECTION("polling") { options.wait_rule = WaitRule::polling; }
  SECTION("in line") {}
  SECTION("behind another thread") {
    in_front = boost::thread([&] { first.lock(stop.get_token()); });
    while (pinger->store().inspect("jobs", Freshness::fresh).lock->line.empty()) continue;
  }
  DistributedLock waits(pinger, "jobs", options);
  std::optional<int> status;
  waits.on_waiting([&](const WaitReport&) {
    if (status) return;
    const pid_t child = fork();
    if (child == 0) return;
    waitpid(child, &status.emplace(), 0);
    stop.request_stop();
  });
  const auto wait = [&] { return waits.lock(stop.get_token()); };
  const bool forked = thrown_by(wait) == Errc::forked;
  if (parent.in_child()) leave(forked ? 0 : 1);
  if (in_front.joinable()) in_front.join();
  CHECK(status == 0);
}
