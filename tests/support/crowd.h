#pragma once

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "support/faulty_store.h"
#include "support/still_clock.h"

namespace distlock::testing {

/// Asks again until the answer is yes, for a minute at most: then the test has failed.
template <class Condition>
void comes_to_be(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("it never comes true");
    boost::this_thread::yield();
  }
}

/// Threads of one process that wait for the lock "jobs". Its time stands still, so that a hold may
/// be passed on until a test lets time pass.
struct Crowd {
  explicit Crowd(std::shared_ptr<Store> given = nullptr,
                 std::shared_ptr<StillClock> by = std::make_shared<StillClock>())
      : clock(std::move(by)), inner(given ? std::move(given) : make_memory_store(clock)) {
    store->has_line = true;
  }
  // At its end a pinger tells those behind the first of their turn, and waits for that time (R19).
  ~Crowd() {
    const auto ended = std::async(std::launch::async, [this] { pinger->stop(); });
    comes_to_be([&] {
      clock->advance(std::chrono::milliseconds{5});
      return ended.wait_for(std::chrono::milliseconds{1}) == std::future_status::ready;
    });
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  LockRecord stored() const { return *inner->inspect("jobs", Freshness::fresh).lock; }
  void wait_for_line(std::size_t places) const {
    comes_to_be([&] { return stored().line.size() == places; });
  }

  const std::shared_ptr<StillClock> clock;
  const std::shared_ptr<Store> inner;
  const std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(inner);
  const std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = clock, .process = "p", .random = {}}, PingerOptions{},
      PingerDrive::caller);
};

inline LockOptions patient_options() {
  LockOptions options;
  options.recheck = std::chrono::hours{1};
  options.deadlock_after = std::chrono::seconds{0};
  return options;
}

/// A thread that waits for the lock, holds it, and unlocks when it is told to.
class Candidate {
 public:
  explicit Candidate(Crowd& crowd, const LockOptions& options = patient_options())
      : Candidate(crowd, std::make_shared<DistributedLock>(crowd.pinger, "jobs", options)) {}
  Candidate(Crowd& crowd, std::shared_ptr<DistributedLock> by) : lock(std::move(by)) {
    // Told once of the lock, and perhaps once of a store that fails.
    lock->on_waiting([this](const WaitReport&) {
      if (!waits_.exchange(true)) in_queue_.set_value();
    });
    thread_ = boost::thread([this] { work(); });
    id = started_.get_future().get();
    // A thread has a look to tell of once it is in the queue.
    const auto told = in_queue_.get_future();
    comes_to_be([&] {
      if (told.wait_for(std::chrono::milliseconds{1}) == std::future_status::ready) return true;
      // No time passes for a thread that is not there yet.
      const auto until = crowd.clock->waits_until(id);
      const auto now = crowd.clock->steady_now();
      constexpr std::chrono::nanoseconds kMost = std::chrono::milliseconds{500};
      if (until && *until > now) crowd.clock->advance(std::min(*until - now, kMost));
      return false;
    });
    lock->on_waiting({});
    // No hold goes to it while it tells.
    comes_to_be([&] { return crowd.clock->waits(id); });
  }
  ~Candidate() {
    if (!thread_.joinable()) return;
    no_more_.request_stop();
    go_.set_value();
    thread_.join();
  }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  bool has_it() const {
    return hold_ || told_.wait_for(std::chrono::milliseconds{1}) == std::future_status::ready;
  }
  /// Whether it has ended its wait, or sleeps until a time that is still to come.
  bool rests(const StillClock& clock) const {
    const auto next = clock.waits_until(id);
    return has_it() || (next && next > clock.steady_now());
  }
  LockRecord hold() {
    comes_to_be([&] { return has_it(); });
    if (!hold_) hold_ = told_.get();
    return *hold_;
  }
  UnlockResult give_up() {
    hold();
    go_.set_value();
    thread_.join();
    return result_;
  }
  /// With pauses between its attempts.
  UnlockResult give_up_while_time_passes(StillClock& clock) {
    hold();
    go_.set_value();
    comes_to_be([&] {
      const bool ended = thread_.try_join_for(boost::chrono::milliseconds{1});
      if (!ended) clock.advance(std::chrono::seconds{1});
      return ended;
    });
    return result_;
  }

  const std::shared_ptr<DistributedLock> lock;
  std::thread::id id;
  /// Runs on the thread.
  std::function<UnlockResult()> unlock = [this] { return lock->unlock(); };

 private:
  void work() {
    started_.set_value(std::this_thread::get_id());
    try {
      if (!lock->lock(no_more_.get_token())) throw std::runtime_error("the test is over");
    } catch (const std::exception&) {
      return got_.set_exception(std::current_exception());
    }
    got_.set_value(lock->record());
    go_.get_future().wait();
    result_ = unlock();
  }

  std::promise<std::thread::id> started_;
  std::promise<void> in_queue_;
  std::atomic<bool> waits_ = false;
  std::stop_source no_more_;
  std::promise<LockRecord> got_;
  std::future<LockRecord> told_ = got_.get_future();
  std::promise<void> go_;
  std::optional<LockRecord> hold_;
  UnlockResult result_ = UnlockResult::pending;
  boost::thread thread_;
};

/// A thread that tries a lock object, and is kept in the middle of its look at the store. No other
/// thread may look until then.
class KeptTry {
 public:
  KeptTry(Crowd& crowd, DistributedLock& lock) {
    crowd.store->before("inspect", [this] {
      looks_.count_down();
      go_on_.wait();
    });
    thread_ = boost::thread([&lock] { (void)lock.lock_try("x"); });
    looks_.wait();
  }
  ~KeptTry() { end(); }
  KeptTry(const KeptTry&) = delete;
  KeptTry& operator=(const KeptTry&) = delete;

  /// Lets it go on, and waits for its end.
  void end() {
    if (!thread_.joinable()) return;
    go_on_.count_down();
    thread_.join();
  }

 private:
  std::latch looks_{1};
  std::latch go_on_{1};
  boost::thread thread_;
};

/// `first` holds by a claim for several, and the others wait behind it in this order.
struct PassingScene {
  explicit PassingScene(const std::vector<LockOptions>& others = {patient_options(),
                                                                  patient_options()},
                        bool reply_gets_lost = false, std::shared_ptr<Store> store = nullptr)
      : crowd(std::move(store)) {
    DistributedLock before(crowd.pinger, "jobs", patient_options());
    REQUIRE(before.lock_try("before"));
    // The first to wait has nobody behind it when it takes its place.
    Candidate alone(crowd);
    crowd.wait_for_line(1);
    first = std::make_unique<Candidate>(crowd);
    for (const LockOptions& options : others) {
      behind.push_back(std::make_unique<Candidate>(crowd, options));
    }
    REQUIRE(before.unlock() == UnlockResult::released);
    REQUIRE(alone.hold().fence == 2);
    crowd.wait_for_line(1);
    if (reply_gets_lost) crowd.store->fail("stand", Fault::lost_reply);
    REQUIRE(alone.give_up() == UnlockResult::released);
    comes_to_be([&] {
      if (reply_gets_lost) crowd.clock->advance(std::chrono::milliseconds{20});
      return first->has_it();
    });
    REQUIRE(first->hold().fence == 3);
    REQUIRE(crowd.stored().fence == 66);
  }
  Candidate& second() { return *behind.at(0); }
  Candidate& third() { return *behind.at(1); }

  Crowd crowd;
  std::vector<std::unique_ptr<Candidate>> behind;
  std::unique_ptr<Candidate> first;  // It ends before those behind it.
};

}  // namespace distlock::testing
