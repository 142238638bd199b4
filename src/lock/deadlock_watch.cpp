#include "lock/deadlock_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "distlock/error.h"
#include "log.h"

namespace distlock {
namespace {

using std::chrono::nanoseconds;

// Rarely: each look reads all who wait, and a cycle does not go away.
constexpr std::chrono::minutes kPauseMost{1};
constexpr nanoseconds kConfirmAfter = std::chrono::seconds{1};

// The part of a pause in which a look of another thread serves, too.
nanoseconds shared_part(nanoseconds pause) { return pause / 4; }

bool stands_in(const deadlock::Cycle& cycle, const Token& ticket) {
  return std::any_of(cycle.begin(), cycle.end(),
                     [&](const deadlock::Wait& wait) { return wait.waiter.ticket == ticket; });
}

// The cycle with this waiter in it, or nothing.
deadlock::Cycle cycle_of(const Token& ticket, const std::vector<deadlock::Cycle>& cycles) {
  const auto found = std::find_if(cycles.begin(), cycles.end(), [&](const deadlock::Cycle& cycle) {
    return stands_in(cycle, ticket);
  });
  return found == cycles.end() ? deadlock::Cycle{} : *found;
}

// The same, and it begins with this waiter: each warns of a possible cycle.
deadlock::Cycle own_cycle_of(const Token& ticket, const std::vector<deadlock::Cycle>& possible) {
  deadlock::Cycle cycle = cycle_of(ticket, possible);
  const auto own = std::find_if(cycle.begin(), cycle.end(), [&](const deadlock::Wait& wait) {
    return wait.waiter.ticket == ticket;
  });
  std::rotate(cycle.begin(), own, cycle.end());
  return cycle;
}

bool some_may_be_left(const deadlock::Cycle& cycle) {
  return std::any_of(cycle.begin(), cycle.end(),
                     [](const deadlock::Wait& wait) { return wait.may_be_left; });
}

// When the last of the cycle came. A place that is not in the store came before the first look.
StoreTime last_came(const deadlock::Cycle& cycle, StoreTime first_look) {
  StoreTime last = StoreTime::min();
  for (const deadlock::Wait& wait : cycle) {
    const bool stored = wait.waiter.since < StoreTime::max();
    last = std::max(last, stored ? wait.waiter.since : first_look);
  }
  return last;
}

// Whether the process has pinged since, and so had not ended before. By one clock alone (R4).
bool pinged_since(StoreTime time, const std::string& process, const std::vector<PingRecord>& all,
                  const StoreNow& now) {
  return std::any_of(all.begin(), all.end(), [&](const PingRecord& one) {
    return one.process == process && one.clock == now.clock && one.ping > time &&
           one.ping <= now.time;
  });
}

}  // namespace

DeadlockWatch::DeadlockWatch(Overviews& overviews, nanoseconds after, SteadyTime begun,
                             std::string process, bool& warned)
    : overviews_(overviews),
      process_(std::move(process)),
      pause_(after),
      due_(after > nanoseconds{0} ? begun + after : SteadyTime::max()),
      since_(due_ - shared_part(after)),
      warned_(warned) {}

DeadlockWatch::Seen DeadlockWatch::look(const Token& ticket, Clock& clock) {
  if (!look_at_all(clock)) return Seen::no_cycle;
  deadlock::Cycle certain = cycle_of(ticket, seen_->cycles);
  if (!certain.empty()) return judge(std::move(certain), ticket);
  return judge(own_cycle_of(ticket, seen_->possible), ticket);
}

bool DeadlockWatch::look_at_all(Clock& clock) {
  const auto seen = overviews_.get(since_, clock);
  if (!seen) {
    due_ = clock.steady_now() + std::min(shared_part(pause_), kConfirmAfter);
    return false;
  }
  seen_ = seen;
  if (!seen_->now) {
    look_later();
    return false;
  }
  if (!came_) came_ = seen_->now->time;
  return true;
}

DeadlockWatch::Seen DeadlockWatch::judge(deadlock::Cycle cycle, const Token& ticket) {
  const auto pinged = [&](const std::string& process, StoreTime since) {
    return pinged_since(since, process, seen_->pings, *seen_->now);
  };
  const StoreTime came = last_came(cycle, *came_);
  const bool done = warned_ && !deadlock::is_certain(cycle);
  if (cycle.empty() || done || cycle.front().waiter.ticket != ticket) {
    suspected_.clear();
    look_later();
    if (cycle.empty()) return Seen::no_cycle;
  } else {
    const StoreTime since = needs_another_ping(cycle) ? std::max(came, *lived_at_) : came;
    const bool all_live = std::all_of(cycle.begin(), cycle.end(), [&](const deadlock::Wait& wait) {
      const std::string& process = wait.waiter.process;
      return process == process_ || pinged(process, since);
    });
    believe_or_suspect(std::move(cycle), all_live);
  }
  return pinged(process_, came) ? Seen::cycle : Seen::cycle_without_our_ping;
}

// A place that may have been left goes in the round of a ping, after some time where the store is
// slow. Another ping shows that this round is over.
bool DeadlockWatch::needs_another_ping(const deadlock::Cycle& cycle) const {
  return cycle == suspected_ && lived_at_ && some_may_be_left(cycle);
}

// The pinger gives holds and places up after its ping. So a second look comes after the pings.
void DeadlockWatch::believe_or_suspect(deadlock::Cycle cycle, bool all_live) {
  const bool again = cycle == suspected_;
  if (again && lived_at_ && all_live) {
    if (!deadlock::is_certain(cycle)) return warn(cycle);
    throw Error(Errc::deadlock, "deadlock: " + deadlock::in_words(cycle));
  }
  if (!needs_another_ping(cycle))
    lived_at_ = all_live ? std::optional(seen_->now->time) : std::nullopt;
  confirm_after_ = again && !all_live ? 2 * confirm_after_ : kConfirmAfter;
  confirm_after_ = std::min(confirm_after_, pause_);
  look_again_in(confirm_after_);
  suspected_ = std::move(cycle);
}

void DeadlockWatch::warn(const deadlock::Cycle& cycle) {
  log::wait_may_never_end(deadlock::in_words(cycle, "this process"));
  warned_ = true;
  look_later();
}

void DeadlockWatch::look_later() {
  pause_ = std::min<nanoseconds>(2 * pause_, kPauseMost);
  look_again_in(pause_);
}

// From when this look was had, so that threads that share it are due at once again, and share the
// next.
void DeadlockWatch::look_again_in(nanoseconds pause) {
  due_ = seen_->had + pause;
  since_ = due_ - shared_part(pause);
}

}  // namespace distlock
