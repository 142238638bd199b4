#include "lock/deadlock_watch.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <latch>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "support/crowd.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Processes on one memory store.
struct Pair {
  std::shared_ptr<DistributedLockPinger> process(const char* name) const {
    return std::make_shared<DistributedLockPinger>(
        Environment{.store = store, .clock = clock, .process = name, .random = {}},
        PingerOptions{.ping_every = ping_every});
  }
  std::size_t line_of(const std::string& name) const {
    return store->inspect(name, Freshness::fresh).lock->line.size();
  }

  const std::chrono::milliseconds ping_every;
  std::shared_ptr<Clock> clock = host_clock();
  std::shared_ptr<Store> store = make_memory_store(clock);
};

LockOptions looking_soon() {
  LockOptions options;
  options.recheck = 1h;
  options.deadlock_after = 10ms;
  return options;
}

// A thread of "a" holds x and waits for y, which "b" holds.
struct Crossing {
  /// By default no ping comes by itself.
  explicit Crossing(std::chrono::milliseconds ping_every = 5min) : pair{ping_every} {}

  void begin() {
    std::promise<void> holds_x;
    first = boost::thread([&] {
      REQUIRE(ax.lock_try("work"));
      holds_x.set_value();
      while (!pair.store->inspect("y", Freshness::fresh).lock) boost::this_thread::yield();
      ay.lock();
    });
    holds_x.get_future().wait();
    REQUIRE(by.lock_try("work"));
    // Its place is of an earlier millisecond than the next.
    const auto is_earlier = [&] {
      const Inspection seen = pair.store->inspect("y", Freshness::fresh);
      return !seen.lock->line.empty() && seen.lock->line.front().since < seen.now->time;
    };
    while (!is_earlier()) boost::this_thread::yield();
  }
  std::vector<Waiter> line(const char* name) const {
    return pair.store->inspect(name, Freshness::fresh).lock->line;
  }

  const Pair pair;
  const std::shared_ptr<DistributedLockPinger> a = pair.process("a");
  const std::shared_ptr<DistributedLockPinger> b = pair.process("b");
  DistributedLock ax{a, "x", looking_soon()};
  DistributedLock ay{a, "y", looking_soon()};
  DistributedLock by{b, "y", looking_soon()};
  DistributedLock bx{b, "x", looking_soon()};
  boost::thread first;
};

/// Threads of one process, each of which holds a lock and waits for the next one's.
class Circle {
 public:
  Circle(std::shared_ptr<DistributedLockPinger> process, int threads)
      : process_(std::move(process)), hold_(threads + 1), go_(1) {
    for (int place = 0; place < threads; ++place) locks.push_back(another(place));
    for (int place = 0; place < threads; ++place) {
      threads_.emplace_back([this, place] { run(place); });
    }
    hold_.arrive_and_wait();
  }
  ~Circle() { end(); }
  Circle(const Circle&) = delete;
  Circle& operator=(const Circle&) = delete;

  std::string name(int place) const { return "lock" + std::to_string(place); }
  std::unique_ptr<DistributedLock> another(int place) const {
    return std::make_unique<DistributedLock>(process_, name(place), looking_soon());
  }
  /// Each waits for the next lock by this object.
  void close(std::function<DistributedLock&(int)> by) {
    by_ = std::move(by);
    go_.count_down();
  }
  void check_that_one_is_told() {
    const int others = static_cast<int>(locks.size()) - 1;
    CHECK_NOTHROW(comes_to_be([&] { return told_ + got_ > others; }));
    end();
    CHECK(told_ == 1);
    CHECK(got_ == others);
  }

  std::vector<std::unique_ptr<DistributedLock>> locks;
  std::stop_source stop;
  bool looks_first = false;  // each, at the lock that it waits for

 private:
  void run(int place) {
    DistributedLock& own = *locks[place];
    own.lock();
    hold_.arrive_and_wait();
    go_.wait();
    DistributedLock& next = by_((place + 1) % static_cast<int>(locks.size()));
    LockRecord other;
    try {
      if (next.lock(stop.get_token(), {}, looks_first ? &other : nullptr)) {
        ++got_;
        next.unlock();
      }
    } catch (const Error& error) {
      if (error.errc() == Errc::deadlock) ++told_;
    }
    own.unlock();
  }
  void end() {
    stop.request_stop();
    for (boost::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const std::shared_ptr<DistributedLockPinger> process_;
  std::latch hold_;
  std::latch go_;
  std::function<DistributedLock&(int)> by_;
  std::atomic<int> told_ = 0;
  std::atomic<int> got_ = 0;
  std::vector<boost::thread> threads_;
};

}  // namespace

TEST_CASE("of two threads that wait for each other the later one is told, and the other goes on",
          "[deadlock][waiting][R22]") {
  Crossing crossing;
  crossing.begin();
  try {
    crossing.bx.lock();
    FAIL("nobody has freed it");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::deadlock);
    CHECK_THAT(error.what(), Catch::Contains("waits for \"x\", held by a:thread") &&
                                 Catch::Contains("waits for \"y\", held by b:thread"));
  }
  CHECK(crossing.line("x").empty());
  CHECK(crossing.by.held());
  crossing.by.unlock();
  crossing.first.join();
  CHECK(crossing.ay.held());
}

TEST_CASE("a thread that waits behind another of its process is in a cycle too",
          "[deadlock][waiting][R22]") {
  Crossing crossing(20ms);
  crossing.begin();
  DistributedLock bx2(crossing.b, "x", looking_soon());
  // Stands in the store's line for its whole process, and is in no cycle.
  boost::thread in_front([&] { crossing.bx.lock(); });
  while (crossing.line("x").empty()) boost::this_thread::yield();
  CHECK(thrown_by([&] { bx2.lock(); }) == Errc::deadlock);
  CHECK(crossing.by.unlock() == UnlockResult::released);
  crossing.first.join();
  CHECK(crossing.ax.unlock() == UnlockResult::released);
  in_front.join();
  CHECK(crossing.bx.held());
}

TEST_CASE("threads of one process that wait for each other by shared objects see their cycle",
          "[deadlock][waiting][R22]") {
  const int threads = GENERATE(2, 3);
  const Pair pair{5min};
  Circle circle(pair.process("p"), threads);
  circle.close([&](int place) -> DistributedLock& { return *circle.locks[place]; });
  circle.check_that_one_is_told();
}

TEST_CASE("threads that wait for each other behind others of their process see their cycle",
          "[deadlock][waiting][R22]") {
  const Pair pair{5min};
  const auto process = pair.process("p");
  Circle circle(process, 2);
  circle.looks_first = GENERATE(false, true);
  std::vector<std::unique_ptr<DistributedLock>> own;
  std::vector<boost::thread> in_front;
  for (int place = 0; place < 2; ++place) {
    own.push_back(circle.another(place));
    in_front.emplace_back([lock = circle.another(place), &circle] {
      if (lock->lock(circle.stop.get_token())) lock->unlock();
    });
    comes_to_be([&] { return pair.line_of(circle.name(place)) == 1; });
  }
  circle.close([&](int place) -> DistributedLock& { return *own[place]; });
  circle.check_that_one_is_told();
  for (boost::thread& thread : in_front) thread.join();
}

TEST_CASE("a wait that the program begins while it is told of another one is in a cycle too",
          "[deadlock][waiting][R15][R22]") {
  Crossing crossing(20ms);
  crossing.begin();
  DistributedLock z(crossing.b, "z", looking_soon());
  std::latch held(1);
  std::latch go(1);
  boost::thread holder([&] {
    z.lock();
    held.count_down();
    go.wait();
    z.unlock();
  });
  held.wait();
  std::atomic<bool> over = false;
  std::stop_source too_late;
  boost::thread watch([&] {
    try {
      comes_to_be([&] { return over.load(); });
    } catch (const std::runtime_error&) {
      too_late.request_stop();
    }
  });
  std::stop_source stop;
  std::optional<Errc> failure;
  z.on_waiting([&](const WaitReport&) {
    failure = thrown_by([&] { return crossing.bx.lock(too_late.get_token()); });
    over = true;
    stop.request_stop();
  });
  CHECK_FALSE(z.lock(stop.get_token()));
  CHECK(failure == Errc::deadlock);
  watch.join();
  go.count_down();
  holder.join();
  CHECK(crossing.by.unlock() == UnlockResult::released);
  crossing.first.join();
}

TEST_CASE("a thread that waits for a lock of its own by another object is told",
          "[deadlock][waiting][R22]") {
  Fleet fleet;
  const auto process = fleet.process("a");
  process.store->has_line = true;
  const auto held = process.lock("x");
  const auto again = process.lock("x");
  REQUIRE(held->lock_try("work"));
  CHECK(thrown_by([&] { again->lock(); }) == Errc::deadlock);
  CHECK(fleet.clock->waited() >= 5s);
  CHECK(fleet.clock->waited() < 10s);
  CHECK(held->held());
}

TEST_CASE("a wait with a deadline looks for no deadlock, nor does one that is told not to",
          "[deadlock][waiting][R20][R22]") {
  Fleet fleet;
  const auto process = fleet.process("a");
  process.store->has_line = true;
  const auto held = process.lock("x");
  REQUIRE(held->lock_try("work"));
  bool listed = false;
  process.store->before("list_waits", [&] { listed = true; });
  SECTION("with a deadline") { CHECK_FALSE(process.lock("x")->try_lock_for(10min)); }
  SECTION("told not to") {
    LockOptions options;
    options.deadlock_after = 0ms;
    std::stop_source stop;
    const auto again = process.lock("x", options);
    again->on_waiting([&](const WaitReport&) {
      fleet.clock->advance(10min);
      stop.request_stop();
    });
    CHECK_FALSE(again->lock(stop.get_token()));
  }
  CHECK_FALSE(listed);
}
