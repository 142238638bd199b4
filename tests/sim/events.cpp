#include "sim/events.h"

#include "distlock/log.h"
#include "log.h"

// The library's log, replaced: a run counts its events instead of printing them.
namespace distlock {
namespace sim {
namespace {

constexpr std::array<std::string_view, kEvents> kNames{
    "pinged",
    "ping_failed",
    "taken_by_old_process",
    "clock_skew",
    "elapsed_seems_impossible",
    "lock_failed_because_taken",
    "forcefully_taking_over",
    "could_not_take_over",
    "claim_came_second",
    "acquired",
    "unlocked",
    "unlock_attempt_failed",
    "unlock_not_consummated",
    "taken_under_another_clock",
    "wall_clock_skew",
    "store_clock_stepped",
    "not_ours_any_more",
    "claim_outcome_unknown",
    "claim_came_too_late",
    "pending_release_settled",
    "pending_release_failed",
    "ping_late",
    "ping_recovered",
    "stray_hold",
    "forgot_pings",
    "chore_failed",
    "store_failed_while_waiting",
    "lost",
    "callback_threw",
    "passed_on",
    "stood_in_line",
    "rung",
    "left_line",
    "passed_over",
    "kept_out",
    "readmitted",
    "repaired",
    "strange",
};

}  // namespace

void count(Event event) { ++events_so_far().happened[static_cast<std::size_t>(event)]; }

std::string_view name_of(Event event) { return kNames[static_cast<std::size_t>(event)]; }

EventCounts& EventCounts::operator+=(const EventCounts& other) {
  for (std::size_t i = 0; i < kEvents; ++i) happened[i] += other.happened[i];
  return *this;
}

EventCounts& events_so_far() {
  thread_local EventCounts counts;
  return counts;
}

}  // namespace sim

using sim::count;
using sim::Event;
using std::chrono::milliseconds;
using View = std::string_view;

void set_log_level(LogLevel) noexcept {}

namespace log {

void creating_ping_thread(View) {}
void pinged(View, bool) { count(Event::pinged); }
void ping_failed(View, View) { count(Event::ping_failed); }
void taken_by_old_process(const LockRecord&) { count(Event::taken_by_old_process); }
void clock_skew(const LockRecord&, milliseconds) { count(Event::clock_skew); }
void elapsed_seems_impossible(const LockRecord&, milliseconds) {
  count(Event::elapsed_seems_impossible);
}
void lock_failed_because_taken(const LockRecord&, milliseconds) {
  count(Event::lock_failed_because_taken);
}
void forcefully_taking_over(const LockRecord&, milliseconds) {
  count(Event::forcefully_taking_over);
}
void taking_over_from_ended(const LockRecord&) { count(Event::forcefully_taking_over); }
void taking_over_what_counts_nowhere(const LockRecord&) { count(Event::forcefully_taking_over); }
void could_not_take_over(const LockRecord&) { count(Event::could_not_take_over); }
void claim_came_second(View) { count(Event::claim_came_second); }
void acquired(const LockRecord&) { count(Event::acquired); }
void unlocked(View) { count(Event::unlocked); }
void passed_on(View) { count(Event::passed_on); }
void unlock_attempt_failed(View, int, View) { count(Event::unlock_attempt_failed); }
void unlock_not_consummated(View, milliseconds) { count(Event::unlock_not_consummated); }
void taken_under_another_clock(const LockRecord&, milliseconds) {
  count(Event::taken_under_another_clock);
}
void wall_clock_skew(const LockRecord&, milliseconds) { count(Event::wall_clock_skew); }
void store_clock_stepped(View) { count(Event::store_clock_stepped); }
void not_ours_any_more(View, bool) { count(Event::not_ours_any_more); }
void claim_outcome_unknown(View, View) { count(Event::claim_outcome_unknown); }
void claim_came_too_late(View) { count(Event::claim_came_too_late); }
void repaired(View, std::size_t) { count(Event::repaired); }
void pending_release_settled(View) { count(Event::pending_release_settled); }
void pending_release_failed(View, View) { count(Event::pending_release_failed); }
void ping_late(View, milliseconds) { count(Event::ping_late); }
void ping_recovered(View, milliseconds) { count(Event::ping_recovered); }
void stray_hold(View) { count(Event::stray_hold); }
void forgot_pings(std::int64_t number) {
  if (number > 0) count(Event::forgot_pings);
}
void chore_failed(View, View) { count(Event::chore_failed); }
void no_bell(std::string_view) {}
void bell_refused(std::string_view) {}
void no_witness(std::string_view) {}
void member_kept_out(View, milliseconds) { count(Event::kept_out); }
void member_carries_locks(View) {}
void member_waits_for_fence(View, View, View) {}
void member_is_back(View) { count(Event::readmitted); }
void member_of_another_set(View) { count(Event::strange); }
void member_of_another_place(View) {}
void member_is_a_copy(View) {}
void member_cannot_be_used(View, View) {}
void deadlocks_not_seen(View) {}
void place_not_given_up(std::string_view, std::string_view) {}
void store_failed_while_waiting(View, View) { count(Event::store_failed_while_waiting); }
void wait_may_never_end(View) {}
void lost(View, LossReason) { count(Event::lost); }
void callback_threw(View, View) { count(Event::callback_threw); }
void no_thread_to_announce(View) {}

}  // namespace log
}  // namespace distlock
