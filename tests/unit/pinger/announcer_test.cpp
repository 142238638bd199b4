// Callbacks and tokens on real threads. Losses come at once: the store has lost the holds.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <future>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "pinger/holds.h"
#include "support/asleep.h"
#include "support/leave.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

constexpr auto kPatience = 60s;

/// Waits for something that other threads do.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto until = host_clock()->steady_now() + kPatience;
  while (!condition()) {
    if (host_clock()->steady_now() > until) return false;
    boost::this_thread::yield();
  }
  return true;
}

// A sanitizer starts a thread of its own with the first.
std::size_t threads_of_this_process() {
  static const bool begun = [] { return boost::thread([] {}).join(), true; }();
  static_cast<void>(begun);
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator{}));
}

/// Holds of lock objects whose announcements run on threads.
class Watched {
 public:
  Watched() { holds_.announcer().start(); }
  ~Watched() {
    for (const auto& hold : all_) holds_.silence(*hold);
    holds_.announcer().close();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::stop_token begin(OnLost on_lost) {
    const auto& hold = all_.emplace_back(std::make_shared<Hold>("lock", 1h));
    const Token ts{{static_cast<std::uint8_t>(all_.size())}};
    if (on_lost) holds_.on_lost(*hold, std::move(on_lost));
    holds_.enlist(hold, ts);
    hold->claim_validity.begin(SteadyTime{0h});
    holds_.begin(*hold, ts, {}, SteadyTime{0h});
    return holds_.stop_token(*hold);
  }

  void lose_all() { holds_.announce_due(SteadyTime{1h}); }

  /// Of the hold that was begun as that number, from 0 on; as the destructor of its lock does it.
  void silence(std::size_t number) { holds_.silence(*all_[number]); }

 private:
  Holds holds_{AnnounceOn::own_threads};
  std::deque<std::shared_ptr<Hold>> all_;
};

/// A pinger that soon notices what the store has lost.
std::shared_ptr<DistributedLockPinger> attentive_pinger(const std::shared_ptr<Store>& store) {
  return std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                 PingerOptions{.ping_every = 1ms});
}

}  // namespace

TEST_CASE("callbacks that block hold up neither tokens nor other callbacks",
          "[announcer][lifetime][R9][threads]") {
  std::promise<void> go_on;
  const auto held_up = go_on.get_future().share();
  std::atomic<int> told = 0;
  std::atomic<int> blocked = 0;
  std::vector<std::stop_token> tokens;
  {
    Watched world;
    for (int i = 0; i < 200; ++i) {
      tokens.push_back(world.begin([&, i](LossReason) {
        if (i % 2 == 1) {
          ++told;
          return;
        }
        ++blocked;
        held_up.wait();
      }));
    }
    world.lose_all();
    CHECK(comes_true([&] { return told == 100; }));
    CHECK(comes_true([&] { return blocked == 100; }));
    for (const auto& token : tokens) CHECK(token.stop_requested());
    go_on.set_value();
  }
}

TEST_CASE("code that blocks at a stop token holds up no other token and no callback",
          "[announcer][lifetime][R9][threads]") {
  std::promise<void> go_on;
  const auto held_up = go_on.get_future().share();
  std::atomic<int> told = 0;
  {
    Watched world;
    std::vector<std::stop_token> tokens;
    for (int i = 0; i < 40; ++i) tokens.push_back(world.begin([&](LossReason) { ++told; }));
    const auto block = [&] { held_up.wait(); };
    std::deque<std::stop_callback<decltype(block)>> blocking;
    for (int i = 0; i < 10; ++i) blocking.emplace_back(tokens[i], block);
    world.lose_all();
    CHECK(comes_true([&] {
      return std::all_of(tokens.begin(), tokens.end(),
                         [](const auto& token) { return token.stop_requested(); });
    }));
    CHECK(comes_true([&] { return told == 30; }));
    go_on.set_value();
    CHECK(comes_true([&] { return told == 40; }));
  }
}

TEST_CASE("many short callbacks need few threads, and leave few",
          "[announcer][lifetime][R9][threads]") {
  const auto before = threads_of_this_process();
  std::atomic<int> told = 0;
  Watched world;
  for (int i = 0; i < 20'000; ++i) world.begin([&](LossReason) { ++told; });
  std::size_t most = 0;
  world.lose_all();
  CHECK(comes_true([&] {
    most = std::max(most, threads_of_this_process());
    return told == 20'000;
  }));
  CHECK(most < before + 100);
  CHECK(comes_true([&] { return threads_of_this_process() <= before + 2; }));
}

TEST_CASE("a callback of a hold that is lost again and again runs once a loss",
          "[announcer][lifetime][R9][threads]") {
  const auto store = make_memory_store();
  const auto pinger = attentive_pinger(store);
  std::atomic<int> told = 0;
  int lost = 0;
  {
    DistributedLock lock(pinger, "balancer");
    lock.on_lost([&](LossReason) { ++told; });
    for (; lost < 300; ++lost) {
      REQUIRE(lock.lock_try("x"));
      const auto stop = lock.stop_token();
      REQUIRE_FALSE(stop.stop_requested());
      store->release("balancer", *lock.record().ts);
      REQUIRE_FALSE(lock.still_held());
      // The next hold begins while this one's loss is being told.
    }
  }
  CHECK(told == lost);
}

TEST_CASE("the token of a new hold is not stopped by the loss of the one before",
          "[announcer][lifetime][R9][threads]") {
  const auto store = make_memory_store();
  const auto pinger = attentive_pinger(store);
  DistributedLock lock(pinger, "balancer");
  for (int i = 0; i < 300; ++i) {
    REQUIRE(lock.lock_try("x"));
    const auto old = lock.stop_token();
    store->release("balancer", *lock.record().ts);
    REQUIRE(comes_true([&] { return !lock.held(); }));
    REQUIRE(lock.lock_try("y"));
    const auto stop = lock.stop_token();
    REQUIRE(comes_true([&] { return old.stop_requested(); }));
    REQUIRE_FALSE(stop.stop_requested());
    REQUIRE(lock.held());
    REQUIRE(lock.unlock() == UnlockResult::released);
  }
}

TEST_CASE("no callback begins after the destructor has returned",
          "[announcer][lifetime][R9][threads]") {
  const auto store = make_memory_store();
  const auto pinger = attentive_pinger(store);
  for (int i = 0; i < 300; ++i) {
    const auto gone = std::make_shared<std::atomic<bool>>(false);
    const auto late = std::make_shared<std::atomic<bool>>(false);
    {
      DistributedLock lock(pinger, "balancer");
      lock.on_lost([=](LossReason) { late->store(gone->load()); });
      REQUIRE(lock.lock_try("x"));
      store->release("balancer", *lock.record().ts);
      comes_true([&] { return !lock.held(); });
    }
    *gone = true;
    REQUIRE_FALSE(*late);
  }
}

TEST_CASE("locks that are destroyed at once wait each for its own callback alone",
          "[announcer][lifetime][R9][threads]") {
  constexpr int kLocks = 10;
  std::deque<std::promise<void>> go_on(kLocks);
  std::atomic<int> called = 0;
  Watched world;
  for (auto& one : go_on) {
    world.begin([&](LossReason) {
      ++called;
      one.get_future().wait();
    });
  }
  world.lose_all();
  REQUIRE(comes_true([&] { return called == kLocks; }));
  std::deque<std::atomic<bool>> destroyed(kLocks);
  boost::thread_group threads;
  for (int i = 0; i < kLocks; ++i) {
    std::promise<pid_t> begun;
    threads.create_thread([&, i] {
      begun.set_value(gettid());
      world.silence(i);
      destroyed[i] = true;
    });
    const pid_t thread = begun.get_future().get();
    REQUIRE(comes_true([&] { return asleep(thread); }));
  }
  for (int i = kLocks; i-- > 0;) {
    go_on[i].set_value();
    CHECK(comes_true([&] { return destroyed[i].load(); }));
  }
  threads.join_all();
}

TEST_CASE("a callback may destroy the last lock, and so the pinger",
          "[announcer][lifetime][R9][threads]") {
  const auto before = threads_of_this_process();
  for (int i = 0; i < 100; ++i) {
    const auto store = make_memory_store();
    std::promise<void> destroyed;
    auto lock = std::make_unique<DistributedLock>(attentive_pinger(store), "balancer");
    boost::barrier is_held(2);
    lock->on_lost([&](LossReason) {
      is_held.wait();
      lock.reset();
      destroyed.set_value();
    });
    REQUIRE(lock->lock_try("x"));
    const Token ts = *lock->record().ts;
    store->release("balancer", ts);
    is_held.wait();
    destroyed.get_future().wait();
  }
  CHECK(comes_true([&] { return threads_of_this_process() <= before; }));
}

TEST_CASE("a child that was forked in a callback and returns from it announces nothing",
          "[announcer][lifetime][R9][R16][threads][unsanitized][forks]") {
  std::promise<pid_t> forked;
  std::atomic<int> told = 0;
  Watched world;
  world.begin([&](LossReason) {
    const pid_t child = fork();
    if (child != 0) return forked.set_value(child);
    // Its last thread ends it as exit() does, and Catch's report is not the child's to end.
    std::atexit([] { leave(0); });
  });
  // Still waiting, in the child as well, when that one returns.
  for (int i = 0; i < 100; ++i) {
    world.begin([&, parent = getpid()](LossReason) {
      if (getpid() != parent) _exit(1);
      ++told;
    });
  }
  world.lose_all();
  int status = -1;
  waitpid(forked.get_future().get(), &status, 0);
  CHECK(status == 0);
  CHECK(comes_true([&] { return told == 100; }));
}

TEST_CASE("a pinger's threads end with it", "[announcer][pinger][R12][threads]") {
  const auto before = threads_of_this_process();
  for (int i = 0; i < 20; ++i) attentive_pinger(make_memory_store());
  CHECK(comes_true([&] { return threads_of_this_process() <= before; }));
}
