#pragma once

#include <atomic>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>
#include <functional>
#include <list>
#include <memory>

namespace distlock {

/// Threads that come and go.
class Crew {
 public:
  struct Member {
    /// In what may take for ever, or end this crew.
    std::atomic<bool> busy{false};

   private:
    friend class Crew;
    boost::thread thread_;
  };
  using Work = std::function<void(Member&)>;

  /// Starts one more; none after join(). Errors: boost::thread_resource_error, std::bad_alloc.
  void start(const Work& work);
  /// The calling thread leaves for good.
  void leave(const Member& self) noexcept;
  /// Waits until all have returned. It does not wait for busy members, nor for the caller: they go
  /// on alone.
  void join() noexcept;

 private:
  boost::mutex mutex_;
  std::list<std::shared_ptr<Member>> members_;
  bool ended_ = false;
  boost::thread left_;  // the last member that left; it may still be on its way out
};

}  // namespace distlock
