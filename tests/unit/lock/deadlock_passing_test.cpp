#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <latch>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "protocol/deadlock.h"
#include "support/crowd.h"
#include "support/fleet.h"

// Cycles through holds of which others do not know the thread (R21, R22).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

LockOptions looking_early() {
  LockOptions options;
  options.deadlock_after = 10ms;
  return options;
}

/// A process with threads that wait for one lock. The first gets it by a claim for several, and is
/// told to wait for another lock, too.
class ProcessWithBlock {
 public:
  ProcessWithBlock(std::shared_ptr<Store> store, const char* process, std::string name)
      : store_(std::move(store)), pinger_(pinger_of(store_, process)), name_(std::move(name)) {
    DistributedLock before(pinger_, name_, looking_early());
    REQUIRE(before.lock_try("before"));
    // The first to wait has nobody behind it when it takes its place.
    std::latch others_wait{1};
    boost::thread alone([&] {
      DistributedLock lock(pinger_, name_, looking_early());
      lock.lock();
      others_wait.wait();
      lock.unlock();
    });
    comes_to_be([&] { return stored().line.size() == 1; });
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { work(); });
    in_queue_.wait();
    REQUIRE(before.unlock() == UnlockResult::released);
    comes_to_be([&] { return stored().taken() && stored().line.size() == 1; });
    others_wait.count_down();
    alone.join();
    holds_.wait();
  }
  ~ProcessWithBlock() { end(); }
  ProcessWithBlock(const ProcessWithBlock&) = delete;
  ProcessWithBlock& operator=(const ProcessWithBlock&) = delete;

  LockRecord stored() const { return *store_->inspect(name_, Freshness::fresh).lock; }
  /// The thread that holds waits for that lock from now on.
  void wait_for(const std::string& other) {
    other_ = other;
    go_on_.count_down();
  }
  void end() {
    no_more_.request_stop();
    for (boost::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<bool> told = false;
  std::atomic<bool> got = false;

 private:
  static std::shared_ptr<DistributedLockPinger> pinger_of(const std::shared_ptr<Store>& store,
                                                          const char* process) {
    return std::make_shared<DistributedLockPinger>(Environment{.store = store, .process = process},
                                                   PingerOptions{.ping_every = 20ms});
  }
  void work() {
    DistributedLock own(pinger_, name_, looking_early());
    std::atomic<bool> waits = false;
    own.on_waiting([&](const WaitReport&) {
      if (!waits.exchange(true)) in_queue_.count_down();
    });
    if (!own.lock(no_more_.get_token())) return;
    if (!first_.exchange(false)) return;
    holds_.count_down();
    go_on_.wait();
    DistributedLock other(pinger_, other_, looking_early());
    try {
      got = other.lock(no_more_.get_token());
    } catch (const Error& error) {
      told = error.errc() == Errc::deadlock;
    }
    own.unlock();
  }

  const std::shared_ptr<Store> store_;
  const std::shared_ptr<DistributedLockPinger> pinger_;
  const std::string name_;
  std::string other_;
  std::atomic<bool> first_ = true;
  std::latch in_queue_{2};
  std::latch holds_{1};
  std::latch go_on_{1};
  std::stop_source no_more_;
  std::vector<boost::thread> threads_;
};

}  // namespace

TEST_CASE("threads of two processes that hold by claims for several hear of their deadlock",
          "[deadlock][waiting][R21][R22][threads]") {
  const auto store = make_memory_store();
  ProcessWithBlock a(store, "a", "x");
  ProcessWithBlock b(store, "b", "y");
  REQUIRE(deadlock::may_be_passed_on(a.stored().who));
  REQUIRE(deadlock::may_be_passed_on(b.stored().who));
  a.wait_for("y");
  b.wait_for("x");
  comes_to_be([&] { return a.told || b.told; });
  comes_to_be([&] { return a.got || b.got; });
  CHECK(a.told != b.told);
}

TEST_CASE("a place names no hold of which others know the thread", "[waiting][R21][R22]") {
  Fleet fleet;
  const auto holder = fleet.process("holder").lock("y");
  REQUIRE(holder->lock_try("first"));
  const Process process = fleet.process("waiter");
  process.store->has_line = true;
  const auto own = process.lock("x");
  REQUIRE(own->lock_try("for one"));
  std::string who;
  process.store->after("stand", [&] { who = fleet.stored("y").line.at(0).who; });
  CHECK_FALSE(process.lock("y")->try_lock_for(1s));
  CHECK_THAT(who, Catch::StartsWith("waiter:") && !Catch::Contains("="));
}
