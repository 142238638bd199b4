#pragma once

#include <atomic>
#include <boost/thread/thread.hpp>
#include <future>
#include <stop_token>
#include <thread>

#include "distlock/distributed_lock.h"

namespace distlock::testing {

/// A thread that waits for a lock object until it has the lock, or the test is over.
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

}  // namespace distlock::testing
