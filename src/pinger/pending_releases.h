#pragma once

#include <boost/thread/mutex.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/clock.h"
#include "distlock/pinger.h"
#include "pinger/chore_time.h"
#include "pinger/ringer.h"

namespace distlock {

/// A token that may have something in the store, though nobody waits for it any more: the hold of
/// an unlock that the store did not answer, or of a claim whose outcome stayed unknown (R8, R11);
/// the place in line of a wait that is over (R17).
struct PendingRelease {
  std::string name;
  Token ts;
  bool hold = false;
  bool place = false;
  bool for_ringer = false;  ///< No call has given its place up yet.
  /// From when on an answer is an end of it. Until then a delayed request may still arrive.
  SteadyTime settled_after = SteadyTime::min();
  bool failure_logged = false;
};

/// Whether a place waits for a ping round, or a round of rings gives it up at once.
enum class LeaveIn { a_ping_round, a_ring_round };

/// The releases that the pinger tries until the store confirms them.
class PendingReleases {
 public:
  /// A hold that there is no memory for is left to the search for stray holds (Chores, R8).
  void add(std::string_view name, const Token& ts,
           SteadyTime settled_after = SteadyTime::min()) noexcept;
  /// The place in line of `ticket`. If there is no memory for it, others pass it over.
  void add_place(std::string_view name, const Token& ticket,
                 LeaveIn round = LeaveIn::a_ping_round) noexcept;
  /// It was given up, and nothing else is pending with that ticket.
  void settle_place(std::string_view name, const Token& ticket) noexcept;
  /// Counts one more, for good, once a release was left to that search: so the ping stays (R12).
  std::size_t count() const;

  bool contains(const Token& ts) const;
  /// Whether it will free that hold, and not only give a place up.
  bool frees(const Token& ts) const;

  /// Tries each once, or each of `of_lock`, as far as there is time, and keeps what is not settled,
  /// to be tried last next time. Waiters that are next are rung (R19). A release that the store
  /// refuses, or does not answer, holds up no other for longer than its call.
  void work_off(const Environment& environment, Ringer& ringer, ChoreTime& time,
                std::optional<std::string_view> of_lock = std::nullopt);
  /// Gives one place up that is for a round of rings. If that fails, all of them wait for
  /// work_off(), so that nobody asks a store that fails for each. True: another one is to follow.
  bool leave_next(const Environment& environment, Ringer& ringer, ChoreTime& time);

 private:
  /// `freed`: its hold is settled, and there was no time for its place.
  enum class Outcome { settled, kept, freed, failed };
  void merge(PendingRelease release);
  static Outcome try_one(const PendingRelease& release, const Environment& environment,
                         Ringer& ringer, ChoreTime& time);
  void settle(const PendingRelease& release);
  void put_last(const PendingRelease& release, Outcome outcome);
  std::optional<PendingRelease> take_for_ringer();
  bool more_for_ringer() const;
  void leave_to_ping_rounds();

  mutable boost::mutex mutex_;
  std::vector<PendingRelease> releases_;
  bool left_one_ = false;  // to the search for stray holds
};

}  // namespace distlock
