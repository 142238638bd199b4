#pragma once

#include <atomic>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <cstdint>
#include <memory>

#include "fork_guard.h"
#include "pinger/announcement.h"
#include "pinger/crew.h"

namespace distlock {

/// Where callbacks run: on threads of the announcer's own, or on whoever announces (a simulation).
enum class AnnounceOn { own_threads, caller };

/// Stops tokens and runs callbacks of all locks of one pinger. Callbacks may throw, block, unlock
/// or destroy the lock; none of that reaches whoever announces.
///
/// Tokens come before callbacks. While another thread can be had, the last free thread runs no code
/// of a user. Where none can be had, that thread is for tokens alone. So a callback that blocks
/// holds up no other lock.
class Announcer : public std::enable_shared_from_this<Announcer> {
 public:
  explicit Announcer(AnnounceOn announce_on) : announce_on_(announce_on) {}
  ~Announcer();

  /// Starts the first threads, if it is to have any. Errors: boost::thread_resource_error.
  void start();
  /// Ends them. A thread that is in a callback, or is the caller, goes on alone to its end.
  void close() noexcept;

  /// Takes over all of them, to be told in this order. Runs nothing, waits for nobody and takes no
  /// memory: it may be called with the mutex of Holds.
  void add(Announcements& announcements) noexcept;
  /// With AnnounceOn::caller, tells what waits. Not to be called with a mutex.
  void tell_on_caller() noexcept;
  /// Tells what waits for this listener, and waits for what is being told on other threads. False
  /// in a child that a callback has forked: nothing more is to be touched there.
  [[nodiscard]] bool finish(Listener& listener) noexcept;
  /// Whether callbacks wait for want of a thread. If so, one is looked for once more; if not,
  /// `wake` is stopped as soon as they do.
  bool try_again(const std::stop_source& wake) noexcept;
  /// Whether a thread was wanting since this was last asked.
  bool take_shortage() noexcept { return shortage_.exchange(false); }

 private:
  using Lock = boost::unique_lock<boost::mutex>;

  void work(Crew::Member& self) noexcept;
  void run(Announcement& announcement, Crew::Member& self, Lock& lock) noexcept;
  void wait_for_another(Lock& lock) noexcept;
  bool another_is_free(Lock& lock) noexcept;
  Announcement* next() noexcept;
  void tell(Announcement& announcement, Lock& lock) noexcept;
  void put(Announcement& announcement) noexcept;
  static void call(const Announcement& announcement) noexcept;

  const AnnounceOn announce_on_;
  const ForkGuard fork_guard_;
  Crew crew_;
  std::atomic<bool> shortage_{false};
  boost::mutex mutex_;
  boost::condition_variable something_waits_;
  boost::condition_variable something_told_;
  // Guarded by `mutex_`.
  Announcements tokens_;
  Announcements callbacks_;
  int threads_ = 0;
  int busy_ = 0;       // of the threads: in a user's code
  int finishing_ = 0;  // callers of finish()
  std::uint64_t told_ = 0;
  bool wanting_ = false;                     // callbacks wait for want of a thread
  std::stop_source wake_{std::nostopstate};  // A latch of the watch, to look again.
  bool closed_ = false;
};

}  // namespace distlock
