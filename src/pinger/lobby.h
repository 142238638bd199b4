#pragma once

#include <array>
#include <boost/thread/mutex.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/line.h"
#include "fork_guard.h"
#include "pinger/listening.h"
#include "protocol/deadlock.h"

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

/// A lock object that a hold may be passed on to (R21).
class Heir {
 protected:
  ~Heir() = default;
};

/// A hold on its way from one thread of the process to the next (R21): the record of its claim with
/// the fence that it has from now on.
struct Pass {
  LockRecord record;
  Fence last = 0;    ///< The last fence of the claim.
  SteadyTime until;  ///< It is passed on no more from then on.
};

/// The options of a waiter by which it judges a holder.
using Judging = std::array<std::int64_t, 5>;

/// A store that has failed at each look of the thread that stands for those who judge alike.
struct Failing {
  SteadyTime since;
  SteadyTime last;
  Error error;
};

/// The threads of one process that wait for locks of one store: a queue for each lock, first come
/// first served. Only the first of those that judge alike stands in the store's line (R20); rings
/// are for it. A thread steps aside while its lock object is not free though the lock may be: those
/// behind it must not wait for that object.
class Lobby {
 public:
  Lobby(std::shared_ptr<Store> store, std::string process);

 private:
  struct Queue;
  struct Queues;
  struct Waiting;

 public:
  /// The place of one thread, as long as it waits.
  class Place {
   public:
    Place(Lobby& lobby, std::string name, const Judging& judging = {});
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Whether this thread is the one that stands in the store's line.
    bool first() const;
    /// Lets those behind go first. It is rung all the same, and looks again.
    void step_aside();
    /// This thread stands in the store's line now, until it ends its wait.
    void stand();
    /// Whether others of this process wait for the lock as well.
    bool others_wait() const;

    /// From now on looks for deadlocks see this wait of that thread until it stands (R22); of none:
    /// no more.
    void show(std::string thread);
    /// The ticket of this wait in such a look.
    Token made_up_ticket() const;

    /// From now on a hold may be passed on to this thread, by way of its lock object.
    void open(Heir& heir);
    /// No more from now on. False if one has been already.
    [[nodiscard]] bool close();
    /// The hold that was passed on to this thread. Closes the place if there is one.
    std::optional<Pass> take_pass();
    /// Until when a hold of this process may be passed on; while it may, nobody has to stand.
    SteadyTime passing_until() const;

    /// For those behind: their patience with the store is over as early as if they had asked it.
    void store_failed(const Failing& failing);
    void store_answered();
    std::optional<Failing> failing() const;

    Wake& wake() const;
    std::shared_ptr<Wake> shared_wake() const;

   private:
    const std::shared_ptr<Queues> queues_;
    const std::string name_;
    const std::shared_ptr<Waiting> waiting_;
    const ForkGuard fork_guard_;
  };

  /// Passes a hold on to the first open place whose object `give` makes a pass for, and wakes its
  /// thread. False if there is none. `give` is called with the mutex of the queues. Errors: those
  /// of `give`.
  bool pass_on(std::string_view name, const std::function<std::optional<Pass>(Heir&)>& give);
  /// A hold of this process may be passed on until then; the distant past: not, or no more.
  void set_passing(std::string_view name, SteadyTime until) noexcept;

  /// The waits that have no place in the store's line, as far as they are to be seen.
  std::vector<deadlock::Hidden> hidden() const;

  /// As Listening: stops listening to the bell for good, or until the next wait.
  void close() { listening_.close(); }
  [[nodiscard]] bool quiet(SteadyTime now);
  void end_quiet_listening() noexcept { listening_.end_quiet(); }

  /// Wakes the first who waits for `name` in this process, and those that stand in the store's line
  /// or have stepped aside. Takes no memory.
  void ring(std::string_view name);
  /// The same, but those that stand in the store's line.
  void ring_others(std::string_view name);

 private:
  void listen();

  const std::string process_;
  const std::shared_ptr<Queues> queues_;  // The bell may ring once more when this is gone.
  Listening listening_;
};

}  // namespace distlock
