// The watch over deadlines: what is due at one moment, and when to look again (R9).
#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <new>

#include "pinger/holds.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

// How soon the watch looks again after a want of memory,
constexpr std::chrono::milliseconds kMemoryPause{10};
// and how soon if callbacks wait for want of a thread.
constexpr std::chrono::milliseconds kThreadPause{100};

}  // namespace

Holds::Due Holds::announce_due(SteadyTime now) noexcept {
  const auto announcer = announcer_;
  Due due{SteadyTime::max(), {}};
  {
    Announcements to_tell;
    const Guard lock(mutex_);
    for (const auto& [number, hold] : enlisted_) {
      if (hold->active) due.next = std::min(due.next, judge(hold, now, to_tell));
    }
    if (renew_changed()) due.changed = changed_.get_token();
    if (!due.changed.stop_possible()) due.next = std::min<SteadyTime>(due.next, now + kMemoryPause);
    announcer->add(to_tell);
    if (announcer->try_again(changed_))
      due.next = std::min<SteadyTime>(due.next, now + kThreadPause);
    next_ = due.next;
  }
  announcer->tell_on_caller();
  return due;
}

// False for want of memory.
bool Holds::renew_changed() noexcept {
  try {
    if (changed_.stop_requested()) changed_ = std::stop_source{};
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// When to look at this hold again.
SteadyTime Holds::judge(const std::shared_ptr<Hold>& hold, SteadyTime now,
                        Announcements& to_tell) noexcept {
  const SteadyTime until = hold->validity.until();
  if (hold->validity.over(now)) {
    end(hold, LossReason::deadline_passed, to_tell);
    return SteadyTime::max();
  }
  const SteadyTime at_risk = until - hold->validity_span / 2;
  if (now < at_risk) return at_risk;
  if (!hold->risk_told) hold->risk_told = warn(hold, until, to_tell);
  return hold->risk_told ? until : std::min<SteadyTime>(until, now + kMemoryPause);
}

// False for want of memory.
bool Holds::warn(const std::shared_ptr<Hold>& hold, SteadyTime until,
                 Announcements& to_tell) noexcept {
  if (!hold->on_at_risk) return true;
  auto* const warning = new (std::nothrow) Announcement;
  if (warning == nullptr) return false;
  warning->to = {hold, &hold->listener};
  warning->valid_until = until;
  warning->on_at_risk = hold->on_at_risk;
  to_tell.push_back(*warning);
  return true;
}

}  // namespace distlock
