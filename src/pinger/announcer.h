#pragma once

#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/loss.h"

namespace distlock {

/// Where callbacks run: a thread for each announcement, so that a slow one holds up nobody, or
/// whoever announces (a simulation).
enum class AnnounceOn { own_thread, caller };

/// Tells the owner of one lock object what becomes of its holds. Callbacks may throw, block, unlock
/// or destroy the lock; none of that reaches whoever announces.
class Announcer : public std::enable_shared_from_this<Announcer> {
 public:
  Announcer(std::string lock_name, AnnounceOn announce_on)
      : lock_name_(std::move(lock_name)), announce_on_(announce_on) {}

  void on_lost(std::function<void(LossReason)> callback);
  void on_at_risk(std::function<void(SteadyTime)> callback);

  /// A new hold, which gets a token of its own.
  void begin();
  /// The hold was lost before this was made: only its token tells.
  void begin_lost();
  std::stop_token stop_token();

  void lost(LossReason reason);
  void at_risk(SteadyTime valid_until);

  /// Waits for callbacks that are running, except one that is running on this very thread.
  void wait_for_callbacks();

 private:
  void run(std::function<void()> announcement);
  void run_here(const std::function<void()>& announcement) noexcept;
  void started();
  void ended();

  const std::string lock_name_;
  const AnnounceOn announce_on_;
  boost::mutex mutex_;
  boost::condition_variable changed_;
  std::function<void(LossReason)> on_lost_;
  std::function<void(SteadyTime)> on_at_risk_;
  std::stop_source stop_;
  int starting_ = 0;
  std::vector<boost::thread::id> running_;
};

}  // namespace distlock
