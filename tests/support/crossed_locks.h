#pragma once

#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"

namespace distlock::testing {

/// Two processes hold a lock each, and each waits for the other's without a deadline. Gives the
/// message of the error that ended one of the waits.
inline std::string message_of_a_deadlock(const std::function<std::shared_ptr<Store>()>& open) {
  using namespace std::chrono_literals;
  boost::barrier both_hold(2);
  boost::mutex mutex;
  std::string message;
  const auto cross = [&](const std::string& own, const std::string& others) {
    const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = open()},
                                                                PingerOptions{.ping_every = 100ms});
    DistributedLock held(pinger, own);
    DistributedLock wanted(pinger, others, {.deadlock_after = 50ms});
    held.lock();
    both_hold.wait();
    try {
      wanted.lock();
    } catch (const Error& error) {
      const boost::lock_guard<boost::mutex> lock(mutex);
      message = error.errc() == Errc::deadlock ? error.what() : "not a deadlock";
    }
  };
  boost::thread other([&] { cross("two", "one"); });
  cross("one", "two");
  other.join();
  return message;
}

}  // namespace distlock::testing
