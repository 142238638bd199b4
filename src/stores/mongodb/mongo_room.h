#pragma once

#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <chrono>
#include <list>
#include <memory>

namespace distlock {

/// Room for so many calls at once, first come, first served. A store's ordinary calls go through
/// one that is smaller than its pool of connections, so that a ping finds a connection (R9).
///
/// Threads: any number. Its mutex guards everything, and is held across no wait for a server.
class MongoRoom {
 public:
  /// A call waits no longer than `limit`.
  MongoRoom(int calls, std::chrono::milliseconds limit) : free_(calls), limit_(limit) {}

  /// A place in the room for as long as this lives; nothing for a call that needs none.
  struct Leave {
    void operator()(MongoRoom* room) const noexcept { room->leave(); }
  };
  using Place = std::unique_ptr<MongoRoom, Leave>;

  /// Errors: `not_applied` if no call has left in time.
  Place enter();

 private:
  struct Waiter {
    boost::condition_variable called;
    bool is_in = false;
  };

  void leave() noexcept;

  boost::mutex mutex_;
  int free_;
  std::list<Waiter*> waiting_;
  const std::chrono::milliseconds limit_;
};

}  // namespace distlock
