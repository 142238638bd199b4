#include "rounds.h"

#include <utility>

namespace balancer {
namespace {

using namespace std::chrono_literals;

/// Most rounds are short; one in three is longer than a takeover takes, so that only the pings keep
/// the lock.
constexpr int kFewChunks = 8;
constexpr int kManyChunks = 60;
constexpr auto kMove = 60ms;
/// Between two rounds of one process: from this to twice this.
constexpr auto kRest = 120ms;
/// The longest time for one step and for leaving the room after it.
constexpr auto kStepAtMost = 250ms;

}  // namespace

Rounds::Rounds(distlock::DistributedLock& balance_lock, distlock::Clock& clock, std::string process,
               const std::string& folder, Ledger& ledger)
    : balance_lock_(balance_lock),
      clock_(clock),
      process_(std::move(process)),
      ledger_(ledger),
      room_(folder, clock),
      chunks_(folder) {}

void Rounds::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      round(stop);
    } catch (const distlock::Error& error) {
      // As mongos does: what failed in this round may work in the next.
      ledger_.note("error", 0, error.what());
    }
    rest(kRest + std::chrono::milliseconds{random_() % kRest.count()}, stop);
  }
}

void Rounds::round(const std::stop_token& stop) {
  distlock::dist_lock_try lk(&balance_lock_, "doing balance round");
  if (!lk.got()) return ledger_.note("busy", lk.other().fence, lk.other().who);

  const int chunks = random_() % 3 == 0 ? kManyChunks : kFewChunks;
  ledger_.note("grant", lk.fence(), std::to_string(chunks) + " chunks to move");
  balance(lk.fence(), chunks, stop);
}

void Rounds::balance(distlock::Fence fence, int chunks, const std::stop_token& stop) {
  if (!may_act_for(kStepAtMost)) return ledger_.note("lost", fence, "before the first step");
  enter_room(fence);
  for (int moved = 0; moved < chunks && !stop.stop_requested(); ++moved) {
    if (!move_chunk(fence)) return;
    rest(kMove, stop);
  }
  leave_room(fence);
}

// A process that was paused past its window wakes up in here. It must do nothing more: neither
// move a chunk nor touch the room, in which another may be by now.
bool Rounds::move_chunk(distlock::Fence fence) {
  const distlock::SteadyTime checked = clock_.steady_now();
  if (!may_act_for(kStepAtMost)) {
    // Time enough to tidy up? Then the hold is still ours, only too short for one more step.
    if (may_act_for(0ms)) room_.leave();
    ledger_.note("lost", fence, "the hold has run out");
    return false;
  }
  room_.stay(valid_until_);
  if (!chunks_.move_one(fence)) {
    ledger_.note(checked, "refused", fence, "the resource has seen a greater fence");
    ledger_.note("lost", fence, "refused by the resource");
    return false;
  }
  ledger_.note(checked, "step", fence);
  return true;
}

void Rounds::enter_room(distlock::Fence fence) {
  const Entry entry = room_.enter(process_, fence, valid_until_);
  if (entry.found == Entry::Found::somebody) ledger_.note("overlap", fence, entry.mark);
  if (entry.found == Entry::Found::leftover) ledger_.note("leftover", fence, entry.mark);
}

void Rounds::leave_room(distlock::Fence fence) {
  const distlock::SteadyTime checked = clock_.steady_now();
  if (!may_act_for(0ms)) return ledger_.note("lost", fence, "the hold has run out");
  if (!room_.leave()) ledger_.note(checked, "overlap", fence, "our mark is gone");
  ledger_.note(checked, "done", fence);
}

/// The one place that says whether we still hold the lock, and for long enough.
bool Rounds::may_act_for(std::chrono::nanoseconds duration) {
  valid_until_ = balance_lock_.valid_until();
  return valid_until_ > clock_.steady_now() + duration;
}

void Rounds::rest(std::chrono::milliseconds duration, const std::stop_token& stop) {
  clock_.wait_until(clock_.steady_now() + duration, stop);
}

}  // namespace balancer
