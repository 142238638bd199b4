#pragma once

#include <boost/thread/mutex.hpp>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "distlock/line.h"
#include "fork_guard.h"

namespace distlock {

/// Cuts a wait short: rung, it stays rung until it is armed again, so that no ring between a look
/// and the wait after it gets lost.
///
/// Threads: arm() by the waiting thread; ring() by any.
class Wake {
 public:
  /// For the next wait: a stop is requested at the next ring.
  std::stop_token arm();
  void ring();

 private:
  boost::mutex mutex_;
  std::stop_source next_;
};

/// The threads of one process that wait for locks of one store: a queue for each lock, first come
/// first served. Only the first of a queue stands in the store's line (R20); rings are for it. A
/// thread steps aside while its lock object is not free though the lock may be: those behind it
/// must not wait for that object.
class Lobby {
 public:
  Lobby(std::shared_ptr<Store> store, std::string process);

 private:
  struct Queues;
  struct Waiting;

 public:
  /// The place of one thread, as long as it waits.
  class Place {
   public:
    Place(Lobby& lobby, std::string name);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Whether this thread is the one that stands in the store's line.
    bool first() const;
    /// Lets those behind go first. It is rung all the same, and looks again.
    void step_aside();
    /// This thread stands in the store's line now, until it ends its wait.
    void stand();
    Wake& wake() const;
    std::shared_ptr<Wake> shared_wake() const;

   private:
    const std::shared_ptr<Queues> queues_;
    const std::string name_;
    const std::shared_ptr<Waiting> waiting_;
    const ForkGuard fork_guard_;
  };

  /// Stops listening to the bell, for good.
  void close();

  /// Wakes the first who waits for `name` in this process, and those that stand in the store's line
  /// or have stepped aside. Takes no memory.
  void ring(std::string_view name);

 private:
  void listen_once();

  const std::shared_ptr<Store> store_;
  const std::string process_;
  const std::shared_ptr<Queues> queues_;  // The bell may ring once more when this is gone.
  boost::mutex listening_mutex_;
  // Guarded by `listening_mutex_`.
  std::shared_ptr<void> listening_;
  bool closed_ = false;
};

}  // namespace distlock
