// An opening of a store that takes long, or never ends, beside a wait and a signal.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "cli/opening.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "support/idle_clock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// Lets an opening end when its time has come, or never. It may outlast the test.
class Answer {
 public:
  void await(SteadyTime at) {
    std::unique_lock lock(mutex_);
    at_ = at;
    ended_.wait(lock, [&] { return at_ == SteadyTime::min(); });
  }
  /// The distant future if none is awaited.
  SteadyTime at() const {
    const std::lock_guard lock(mutex_);
    return at_ == SteadyTime::min() ? SteadyTime::max() : at_;
  }
  void give() {
    {
      const std::lock_guard lock(mutex_);
      at_ = SteadyTime::min();
    }
    ended_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  SteadyTime at_ = SteadyTime::min();
};

/// Time in which one opening may be under way.
class TimeOfOpening : public IdleClock {
 public:
  explicit TimeOfOpening(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}

  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    while (!others_rest()) {
      if (stop.stop_requested()) return false;
      std::this_thread::yield();
    }
    const SteadyTime at = answer_->at();
    if (at <= until && at != SteadyTime::max()) {
      advance(std::max(at - steady_now(), 0ns));
      answer_->give();
    }
    return IdleClock::wait_until(until, stop);
  }

 private:
  std::shared_ptr<Answer> answer_;
};

/// A store whose opening takes so long.
struct SlowToOpen {
  ~SlowToOpen() { answer->give(); }

  std::shared_ptr<Store> open_within(std::optional<std::chrono::milliseconds> most) {
    const auto open = [this, answer = answer, store = store, stop = stop] {
      ++openings;
      if (const auto failure = std::exchange(first_failure, std::nullopt)) throw Error(*failure);
      const SteadyTime at = takes == 0ns ? SteadyTime::max() : clock.steady_now() + takes;
      if (stops) stop.request_stop();
      answer->await(at);  // From the stop on this test may be over.
      return store;
    };
    return open_patiently(open, {clock, stop.get_token(), most, "sqlite:jobs.db", of_lock}, err);
  }
  /// The text of the error, or nothing.
  std::string failure_within(std::chrono::milliseconds most) {
    try {
      static_cast<void>(open_within(most));
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::not_applied);
      return error.what();
    }
    return "";
  }
  std::chrono::nanoseconds passed() const { return clock.steady_now() - begun; }

  std::chrono::nanoseconds takes{};  ///< Nothing: for ever.
  std::optional<std::chrono::milliseconds> of_lock;
  bool stops = false;  ///< A signal comes meanwhile.
  std::optional<Error> first_failure;
  std::shared_ptr<Answer> answer = std::make_shared<Answer>();
  std::shared_ptr<Store> store = make_memory_store();
  TimeOfOpening clock{answer};
  SteadyTime begun = clock.steady_now();
  std::stop_source stop;
  std::ostringstream err;
  std::atomic<int> openings = 0;
};

}  // namespace

TEST_CASE("a store that takes long to open within the wait is opened once", "[cli][run][R15]") {
  SlowToOpen slow;
  slow.takes = 1900ms;
  CHECK(slow.open_within(2s) == slow.store);
  CHECK(slow.passed() == 1900ms);
  CHECK(slow.openings == 1);
}

TEST_CASE("an opening that is not done when the wait is over is left behind", "[cli][run][R15]") {
  SlowToOpen slow;
  slow.takes = GENERATE(as<std::chrono::nanoseconds>{}, 0ns, 2001ms);
  CHECK_THAT(slow.failure_within(2s), Catch::Contains("sqlite:jobs.db: it took longer"));
  CHECK(slow.passed() == 2s);
  CHECK(slow.openings == 1);
  CHECK(slow.err.str().empty());
}

TEST_CASE("a wait that ends in an opening tells why an earlier one failed", "[cli][run][R15]") {
  SlowToOpen slow;
  slow.first_failure = Error(Errc::not_applied, "the port is closed");
  CHECK(slow.failure_within(2s) == "the port is closed");
  CHECK(slow.passed() == 2s);
  CHECK(slow.openings == 2);
}

TEST_CASE("a signal ends a wait in the middle of an opening", "[cli][run][R15]") {
  SlowToOpen slow;
  slow.stops = true;
  const auto most = GENERATE(std::optional<std::chrono::milliseconds>(2s),
                             std::optional<std::chrono::milliseconds>(0ms),
                             std::optional<std::chrono::milliseconds>());
  CHECK(slow.open_within(most) == nullptr);
  CHECK(slow.passed() == 0s);
  CHECK(slow.err.str().empty());
}

TEST_CASE("a run that does not wait lets its opening take its time", "[cli][run][R15]") {
  SlowToOpen slow;
  slow.takes = 1h;
  const auto most = GENERATE(std::optional<std::chrono::milliseconds>(0ms),
                             std::optional<std::chrono::milliseconds>(-1ms),  // Over.
                             std::optional<std::chrono::milliseconds>());
  CHECK(slow.open_within(most) == slow.store);
  CHECK(slow.passed() == 1h);
  CHECK(slow.openings == 1);
}

TEST_CASE("an opening that has no patience ends with the wait for the lock", "[cli][run][R15]") {
  SlowToOpen slow;
  slow.of_lock = 2s;
  CHECK_THAT(slow.failure_within(0ms), Catch::Contains("longer than the wait"));
  CHECK(slow.passed() == 2s);
}

TEST_CASE("a short wait leaves an opening a second", "[cli][run][R15]") {
  SlowToOpen slow;
  SECTION("which may be enough") {
    slow.takes = 1s;
    CHECK(slow.open_within(1ms) == slow.store);
  }
  SECTION("and no more") {
    slow.takes = 1001ms;
    CHECK_THAT(slow.failure_within(1ms), Catch::Contains("longer than the wait"));
  }
  CHECK(slow.passed() == 1s);
}
