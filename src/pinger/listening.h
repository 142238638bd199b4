#pragma once

#include <boost/thread/mutex.hpp>
#include <memory>
#include <string>

#include "distlock/clock.h"
#include "distlock/line.h"
#include "distlock/store.h"

namespace distlock {

/// Listens to a store's bell for one process (R19), from a wait on until no thread has waited for a
/// minute. So a lock that threads wait for again and again keeps its bell.
///
/// Threads: all functions may be called concurrently.
class Listening {
 public:
  Listening(std::shared_ptr<Store> store, std::string process)
      : store_(std::move(store)), process_(std::move(process)) {}

  /// Before each wait. A store that cannot be listened to is asked again at the next one; until
  /// then waiters find out by looking (R19).
  void begin_wait(const Line::Rung& rung);
  /// Once a ping round. True: end_quiet() is due.
  [[nodiscard]] bool quiet(bool nobody_waits, SteadyTime now);
  /// Ends until the next wait, if that is due. May take a call of the store.
  void end_quiet() noexcept;
  /// Ends for good.
  void close();

 private:
  void note_wait();
  bool is_quiet() const;

  const std::shared_ptr<Store> store_;
  const std::string process_;
  boost::mutex mutex_;  // Taken before `quiet_mutex_`.
  // Guarded by `mutex_`.
  std::shared_ptr<void> listening_;
  bool closed_ = false;
  mutable boost::mutex quiet_mutex_;
  // Guarded by `quiet_mutex_`.
  bool listens_ = false;
  bool waited_ = false;  // Since the last round.
  bool quiet_ = false;
  SteadyTime quiet_since_;
};

}  // namespace distlock
