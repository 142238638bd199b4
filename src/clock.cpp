#include "distlock/clock.h"

#include <time.h>

#include <algorithm>
#include <boost/chrono/system_clocks.hpp>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>

namespace distlock {
namespace {

// Condition variables do not count suspend. So a wait is made of short ones, and after a resume
// the time that has passed is seen within one of them.
constexpr std::chrono::milliseconds kLongestNap{500};

class HostClock : public Clock {
 public:
  SteadyTime steady_now() const override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return SteadyTime{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
  }

  WallTime wall_now() const override {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }

  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    // Only the token stops a wait. A boost interruption would abandon the call that waits.
    const boost::this_thread::disable_interruption no_interruption;
    boost::mutex mutex;
    boost::condition_variable stopped;
    const std::stop_callback wake(stop, [&] {
      // A thread that was woken with the mutex taken would sleep once more.
      { const boost::lock_guard<boost::mutex> not_before_it_sleeps(mutex); }
      stopped.notify_all();
    });
    boost::unique_lock<boost::mutex> lock(mutex);
    while (!stop.stop_requested()) {
      const SteadyTime now = steady_now();
      if (until <= now) return true;  // First: the difference from the least time has no value.
      const auto nap = std::min<std::chrono::nanoseconds>(until - now, kLongestNap);
      stopped.wait_for(lock, boost::chrono::nanoseconds{nap.count()});
    }
    return false;
  }
};

}  // namespace

std::shared_ptr<Clock> host_clock() {
  // Never destroyed: threads may wait on it while the program ends.
  static const auto& clock = *new std::shared_ptr<Clock>(std::make_shared<HostClock>());
  return clock;
}

namespace {

// A child that is forked while another thread makes it would wait for that for ever.
[[maybe_unused]] const bool kClockAtLoad = host_clock() != nullptr;

}  // namespace

}  // namespace distlock
