#pragma once

#include <pthread.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <mutex>
#include <utility>

namespace distlock {

/// A thread that any number of threads may wait for, itself among them: it then goes on alone. Its
/// function must keep alive the objects that it uses.
class OwnThread {
 public:
  OwnThread() = default;
  ~OwnThread() {
    if (thread_.joinable()) thread_.detach();
  }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  /// Errors: boost::thread_resource_error.
  template <class Run>
  void start(Run run) {
    thread_ = boost::thread([this, run = std::move(run)] {
      itself_ = pthread_self();
      run();
    });
    started_ = true;
  }

  void join() noexcept {
    if (!started_ || itself_ == pthread_self()) return;
    const boost::this_thread::disable_interruption no_interruption;
    // The second caller waits for the first.
    std::call_once(joined_, [this] { thread_.join(); });
  }

 private:
  std::atomic<pthread_t> itself_{};
  std::atomic<bool> started_{false};
  std::once_flag joined_;
  boost::thread thread_;
};

}  // namespace distlock
