#pragma once

#include <boost/thread/thread.hpp>
#include <functional>
#include <stop_token>
#include <utility>

namespace distlock::testing {

/// Threads that each do something again and again, for as long as it lives.
class BusyThreads {
 public:
  BusyThreads() = default;
  ~BusyThreads() {
    stop_.request_stop();
    threads_.join_all();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

  void again(std::function<void()> something) {
    threads_.create_thread([something = std::move(something), ended = stop_.get_token()] {
      while (!ended.stop_requested()) something();
    });
  }

 private:
  std::stop_source stop_;
  boost::thread_group threads_;
};

}  // namespace distlock::testing
