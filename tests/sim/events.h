#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace distlock::sim {

/// The events that the library logs, and those of a line: each stands for a branch of the protocol,
/// so a batch of runs in which one never happens has not tried everything.
enum class Event : std::uint8_t {
  pinged,
  ping_failed,
  taken_by_old_process,
  clock_skew,
  elapsed_seems_impossible,
  lock_failed_because_taken,
  forcefully_taking_over,
  could_not_take_over,
  claim_came_second,
  acquired,
  unlocked,
  unlock_attempt_failed,
  unlock_not_consummated,
  taken_under_another_clock,
  wall_clock_skew,
  store_clock_stepped,
  not_ours_any_more,
  claim_outcome_unknown,
  claim_came_too_late,
  pending_release_settled,
  pending_release_failed,
  ping_late,
  ping_recovered,
  stray_hold,
  forgot_pings,
  chore_failed,
  store_failed_while_waiting,
  lost,
  callback_threw,
  passed_on,
  // Not logged: counted by the simulation's store.
  stood_in_line,
  rung,
  left_line,
  passed_over,
  // Of mirrored stores.
  kept_out,
  readmitted,
  repaired,
  strange,
};
inline constexpr std::size_t kEvents = 38;
/// The events from here on are of mirrored stores.
inline constexpr std::size_t kEventsOfAll = 34;

std::string_view name_of(Event event);

struct EventCounts {
  std::array<std::uint64_t, kEvents> happened{};

  EventCounts& operator+=(const EventCounts& other);
};

/// Of the run that is under way in this thread.
EventCounts& events_so_far();
void count(Event event);

}  // namespace distlock::sim
