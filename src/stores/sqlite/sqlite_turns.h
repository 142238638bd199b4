#pragma once

#include <atomic>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/mutex.hpp>
#include <chrono>

namespace distlock {

/// The order in which the threads of one process use one connection. Calls do not overlap, and a
/// ping comes before all others: holds live by it (R12).
///
/// Threads: any number.
class SqliteTurns {
 public:
  /// A turn lasts for as long as this.
  using Turn = boost::unique_lock<boost::timed_mutex>;

  /// Waits for a turn until since_boot() is `give_up_at`; not owned if it has none by then.
  Turn enter(std::chrono::milliseconds give_up_at);
  /// The same, before all who wait in enter().
  Turn enter_first(std::chrono::milliseconds give_up_at);

  /// How many wait in enter_first().
  int first_waiting() const { return first_waiting_; }

 private:
  boost::timed_mutex connection_;
  // Held by the thread that comes first, until it has the connection.
  boost::timed_mutex place_;
  std::atomic<int> first_waiting_ = 0;
};

}  // namespace distlock
