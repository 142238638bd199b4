#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "distlock/loss.h"
#include "distlock/record.h"
#include "distlock/store.h"

// Every event that the library logs, one function each. They wait for no sink (log_thread.h). The
// original's events keep its wording and level; docs/porting.md lists them.
namespace distlock::log {

/// While it lives, what this thread logs names that store.
class OfStore {
 public:
  explicit OfStore(const Store& store) noexcept : before_(std::exchange(current, &store)) {}
  ~OfStore() { current = before_; }
  OfStore(const OfStore&) = delete;
  OfStore& operator=(const OfStore&) = delete;

  inline static thread_local const Store* current = nullptr;

 private:
  const Store* before_;
};

// The original's events.
void creating_ping_thread(std::string_view process);
/// Info for every tenth good round, debug for the others.
void pinged(std::string_view process, bool every_tenth);
void ping_failed(std::string_view process, std::string_view error);
void taken_by_old_process(const LockRecord& lock);
void clock_skew(const LockRecord& lock, std::chrono::milliseconds skew);
void elapsed_seems_impossible(const LockRecord& lock, std::chrono::milliseconds elapsed);
void lock_failed_because_taken(const LockRecord& lock, std::chrono::milliseconds elapsed);
void forcefully_taking_over(const LockRecord& lock, std::chrono::milliseconds elapsed);
void could_not_take_over(const LockRecord& lock);
void claim_came_second(std::string_view name);
void acquired(const LockRecord& lock);
void unlocked(std::string_view name);
void passed_on(std::string_view name);
void unlock_attempt_failed(std::string_view name, int attempt, std::string_view error);
void unlock_not_consummated(std::string_view name, std::chrono::milliseconds takeover_after);

// Ours.
void taken_under_another_clock(const LockRecord& lock, std::chrono::milliseconds watched);
/// Of a holder whose process has ended (R23).
void taking_over_from_ended(const LockRecord& lock);
void taking_over_what_counts_nowhere(const LockRecord& lock);
void wall_clock_skew(const LockRecord& lock, std::chrono::milliseconds skew);
void store_clock_stepped(std::string_view clock);
/// `told`: its loss was logged before, so that this is no warning.
void not_ours_any_more(std::string_view name, bool told);
void claim_outcome_unknown(std::string_view name, std::string_view error);
void claim_came_too_late(std::string_view name);
void pending_release_settled(std::string_view name);
/// That many more members of a mirrored store carry a hold now.
void repaired(std::string_view name, std::size_t members);
void pending_release_failed(std::string_view name, std::string_view error);
void ping_late(std::string_view process, std::chrono::milliseconds silence);
void ping_recovered(std::string_view process, std::chrono::milliseconds silence);
/// A hold of this process that no lock object knows of: from a late claim, or an undone release.
void stray_hold(std::string_view name);
void forgot_pings(std::int64_t count);
/// Of the pinger's rounds, other than the ping itself.
void chore_failed(std::string_view what, std::string_view error);
/// Waiters for a lock in the file's database look every few seconds.
void no_bell(std::string_view file);
void bell_refused(std::string_view error);
/// This process's locks there are taken over after the window, should it be killed.
void no_witness(std::string_view file);
/// Of a member of a mirrored store (M6).
void member_kept_out(std::string_view store, std::chrono::milliseconds longest);
void member_carries_locks(std::string_view store);
/// A malformed document elsewhere hides a fence that it must know.
void member_waits_for_fence(std::string_view store, std::string_view lock, std::string_view where);
void member_is_back(std::string_view store);
void member_of_another_set(std::string_view store);
void member_of_another_place(std::string_view store);
void member_is_a_copy(std::string_view store);
void member_cannot_be_used(std::string_view store, std::string_view why);
/// By a process whose waits may be among those that can never end (R22).
void deadlocks_not_seen(std::string_view error);
void place_not_given_up(std::string_view name, std::string_view error);
void store_failed_while_waiting(std::string_view name, std::string_view error);
/// By a cycle through commands of `distlock run` (R22), in words.
void wait_may_never_end(std::string_view cycle);

void lost(std::string_view name, LossReason reason);
void callback_threw(std::string_view name, std::string_view what);
/// Callbacks of its locks wait until one of them has ended.
void no_thread_to_announce(std::string_view process);

}  // namespace distlock::log
