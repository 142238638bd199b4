#include "log.h"

#include "log_line.h"
#include "log_thread.h"

namespace distlock::log {
namespace {

template <class... Parts>
void write(LogLevel level, const Parts&... parts) noexcept {
  if (!wanted(level)) return;
  // A message that finds no memory must not cost a lock.
  try {
    std::string text;
    (append(text, parts), ...);
    if (OfStore::current != nullptr) append_store(text, *OfStore::current);
    hand_over(level, std::move(text));
  } catch (...) {
  }
}

}  // namespace

void creating_ping_thread(std::string_view process) {
  write(LogLevel::info, "creating dist lock ping thread for: ", Escaped{process});
}

void pinged(std::string_view process, bool every_tenth) {
  write(every_tenth ? LogLevel::info : LogLevel::debug,
        "dist_lock pinged successfully for: ", Escaped{process});
}

void ping_failed(std::string_view process, std::string_view error) {
  write(LogLevel::warning, "dist_lock pinger: ping failed for ", Escaped{process}, ": ", error);
}

void taken_by_old_process(const LockRecord& lock) {
  write(LogLevel::error,
        "lock is taken by old process? if the process is not active anymore, free the following "
        "lock with distlock break ",
        Quoted{lock.name}, ": ", lock);
}

void clock_skew(const LockRecord& lock, std::chrono::milliseconds skew) {
  write(LogLevel::warning, "dist_lock has detected clock skew of ", skew.count(),
        "ms: the last ping is later than now: ", lock);
}

void elapsed_seems_impossible(const LockRecord& lock, std::chrono::milliseconds elapsed) {
  write(LogLevel::warning, "dist_lock elapsed time seems impossible: ", rounded(elapsed), ": ",
        lock);
}

void lock_failed_because_taken(const LockRecord& lock, std::chrono::milliseconds elapsed) {
  write(LogLevel::debug, "dist_lock lock failed because taken by: ", lock,
        " elapsed: ", rounded(elapsed));
}

void forcefully_taking_over(const LockRecord& lock, std::chrono::milliseconds elapsed) {
  write(LogLevel::info, "dist_lock forcefully taking over from: ", lock,
        " elapsed: ", rounded(elapsed));
}

void could_not_take_over(const LockRecord& lock) {
  write(LogLevel::warning, "dist_lock could not take over from: ", lock,
        ": the document changed meanwhile, or is being changed");
}

void claim_came_second(std::string_view name) {
  write(LogLevel::info, "dist_lock error trying to acquire lock \"", Escaped{name},
        "\": the document changed meanwhile, or is being changed");
}

void acquired(const LockRecord& lock) { write(LogLevel::debug, "dist_lock acquired: ", lock); }

void unlocked(std::string_view name) {
  write(LogLevel::debug, "dist_lock unlock: \"", Escaped{name}, "\"");
}

void passed_on(std::string_view name) {
  write(LogLevel::debug, "dist_lock unlock: \"", Escaped{name},
        "\" goes on to another thread of this process");
}

void unlock_attempt_failed(std::string_view name, int attempt, std::string_view error) {
  write(LogLevel::warning, "dist_lock failed to reach the store in unlock attempt ", attempt,
        " for \"", Escaped{name}, "\": ", error);
}

void unlock_not_consummated(std::string_view name, std::chrono::milliseconds takeover_after) {
  write(LogLevel::warning, "dist_lock couldn't consummate unlock request. lock \"", Escaped{name},
        "\" will be taken over after ", rounded(takeover_after));
}

void taken_under_another_clock(const LockRecord& lock, std::chrono::milliseconds watched) {
  write(LogLevel::debug, "dist_lock lock failed because taken by: ", lock,
        "; its ping cannot be judged by this clock, watched for ", watched.count(), " ms");
}

void taking_over_from_ended(const LockRecord& lock) {
  write(LogLevel::info, "dist_lock taking over from: ", lock, ": its process has ended");
}

void taking_over_what_counts_nowhere(const LockRecord& lock) {
  write(LogLevel::info, "dist_lock taking over from: ", lock,
        ": no majority of the mirrored store's members can carry it any more");
}

void wall_clock_skew(const LockRecord& lock, std::chrono::milliseconds skew) {
  write(LogLevel::warning, "dist_lock: clock skew of ", skew.count(),
        "ms between this host and the store: not taking over from: ", lock);
}

void store_clock_stepped(std::string_view clock) {
  write(LogLevel::warning, "dist_lock: the store's clock ", Escaped{clock},
        " was seen to step: nothing is taken over until a whole window has passed");
}

void not_ours_any_more(std::string_view name, bool told) {
  write(told ? LogLevel::info : LogLevel::warning, "dist_lock unlock: \"", Escaped{name},
        "\" is not ours any more; nothing was changed");
}

void claim_outcome_unknown(std::string_view name, std::string_view error) {
  write(LogLevel::warning, "dist_lock: outcome of the claim of \"", Escaped{name},
        "\" is unknown, reading it back: ", error);
}

void claim_came_too_late(std::string_view name) {
  write(LogLevel::warning, "dist_lock: the claim of \"", Escaped{name},
        "\" took longer than its deadline allows; it counts for nothing");
}

void pending_release_settled(std::string_view name) {
  write(LogLevel::info, "dist_lock: late unlock of \"", Escaped{name}, "\" is settled");
}

void repaired(std::string_view name, std::size_t members) {
  write(LogLevel::info, "dist_lock: hold of \"", Escaped{name}, "\" written to ", members,
        members == 1 ? " member that lacked it" : " members that lacked it");
}

void pending_release_failed(std::string_view name, std::string_view error) {
  write(LogLevel::warning, "dist_lock: late unlock of \"", Escaped{name},
        "\" failed, to be tried again: ", error);
}

void stray_hold(std::string_view name) {
  write(LogLevel::warning, "dist_lock: a claim of \"", Escaped{name},
        "\" took effect after it was given up, or its release was undone; freeing it");
}

void ping_late(std::string_view process, std::chrono::milliseconds silence) {
  write(LogLevel::warning, "dist_lock pinger: no successful ping for ", silence.count(), " ms for ",
        Escaped{process}, ": this process's locks may be taken over");
}

void ping_recovered(std::string_view process, std::chrono::milliseconds silence) {
  write(LogLevel::warning, "dist_lock pinger: pinging again after ", silence.count(), " ms for ",
        Escaped{process});
}

void forgot_pings(std::int64_t count) {
  write(LogLevel::debug, "dist_lock pinger: removed ", count, " old pings");
}

void chore_failed(std::string_view what, std::string_view error) {
  write(LogLevel::warning, "dist_lock pinger: ", what, " failed: ", error);
}

void no_bell(std::string_view file) {
  write(LogLevel::warning, "dist_lock: \"", Escaped{file},
        "\" cannot be used; waiters look every few seconds");
}

void bell_refused(std::string_view error) {
  write(LogLevel::warning, "dist_lock: ", error, "; waiters look every few seconds");
}

void no_witness(std::string_view file) {
  write(
      LogLevel::warning, "dist_lock: \"", Escaped{file},
      "\" cannot be used; if this process is killed, its locks are taken over after their window");
}

void member_kept_out(std::string_view store, std::chrono::milliseconds longest) {
  write(LogLevel::warning, "dist_lock: \"", Escaped{store},
        "\" lost its data or is new; it counts for nobody, and takes part again when the longest "
        "window has passed: ",
        rounded(longest));
}

void member_carries_locks(std::string_view store) {
  write(LogLevel::warning, "dist_lock: \"", Escaped{store},
        "\" is no member of this mirrored store and has locks of its own; it counts for nobody: "
        "empty it, and it takes part again");
}

void member_waits_for_fence(std::string_view store, std::string_view lock, std::string_view where) {
  write(LogLevel::warning, "dist_lock: \"", Escaped{store},
        "\" cannot take part in its mirrored store again while the document of lock \"",
        Escaped{lock}, "\" on \"", Escaped{where},
        "\" is malformed, or has a fence that no other member knows; mend that document");
}

void member_is_back(std::string_view store) {
  write(LogLevel::info, "dist_lock: \"", Escaped{store},
        "\" takes part in its mirrored store again");
}

void member_of_another_set(std::string_view store) {
  write(
      LogLevel::warning, "dist_lock: \"", Escaped{store},
      "\" is a member of another mirrored store; it counts for nobody: name the store that belongs "
      "in its place, or empty this one, and it takes part again later");
}

void member_of_another_place(std::string_view store) {
  write(LogLevel::warning, "dist_lock: \"", Escaped{store},
        "\" is a member of a mirrored store at another place; it counts for nobody here: name the "
        "same members in the same order everywhere");
}

void member_is_a_copy(std::string_view store) {
  write(LogLevel::warning, "dist_lock: \"", Escaped{store},
        "\" is another member of the mirrored store under a second name, or a copy of it; it "
        "counts for nobody: name each member once; only if it is a store of its own, empty it");
}

void member_cannot_be_used(std::string_view store, std::string_view why) {
  write(LogLevel::warning, "dist_lock: member \"", Escaped{store},
        "\" of the mirrored store cannot be used and counts for nobody; the others go on: ",
        Escaped{why}, "; mend that, and it takes part again");
}

void deadlocks_not_seen(std::string_view error) {
  write(LogLevel::warning, "dist_lock: ", error,
        "; while this lasts, waits that can never end are not noticed");
}

void place_not_given_up(std::string_view name, std::string_view error) {
  write(LogLevel::debug, "dist_lock: the place in line for \"", Escaped{name},
        "\" is not given up: ", error);
}

void store_failed_while_waiting(std::string_view name, std::string_view error) {
  write(LogLevel::debug, "dist_lock: waiting for \"", Escaped{name}, "\" goes on after: ", error);
}

void wait_may_never_end(std::string_view cycle) {
  write(LogLevel::warning, "dist_lock: this wait may never end: ", cycle);
}

void lost(std::string_view name, LossReason reason) {
  write(LogLevel::warning, "dist_lock: lost \"", Escaped{name}, "\": ", to_text(reason));
}

void callback_threw(std::string_view name, std::string_view what) {
  write(LogLevel::error, "dist_lock: a callback of \"", Escaped{name}, "\" threw: ", what);
}

void no_thread_to_announce(std::string_view process) {
  write(LogLevel::error, "dist_lock: no thread to be had for callbacks of ", Escaped{process},
        ": one runs at a time, and the others wait");
}

}  // namespace distlock::log
