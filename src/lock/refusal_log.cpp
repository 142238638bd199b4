#include "lock/refusal_log.h"

#include <boost/thread/lock_guard.hpp>
#include <utility>

#include "log.h"

namespace distlock {
namespace {

using protocol::Reason;

}  // namespace

void RefusalLog::count(int more) {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  waits_ += more;
  said_.reset();
}

bool RefusalLog::somebody_waits() const {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  return waits_ > 0;
}

bool RefusalLog::said_already(Reason reason) {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  return std::exchange(said_, reason) == reason && waits_ > 0;
}

void RefusalLog::judged(const Inspection& seen, const protocol::Judgement& judgement) {
  const LockRecord& lock = *seen.lock;
  if (said_already(judgement.reason)) return;
  if (judgement.impossible) log::elapsed_seems_impossible(lock, judgement.elapsed);
  switch (judgement.reason) {
    case Reason::none:
    case Reason::others_turn:
      return;
    case Reason::pinged_recently:
      return log::lock_failed_because_taken(lock, judgement.elapsed);
    case Reason::ping_missing:
      return log::taken_by_old_process(lock);
    case Reason::ping_in_future:
      return log::clock_skew(lock, judgement.elapsed);
    case Reason::other_clock:
    case Reason::not_watched:
      return log::taken_under_another_clock(lock, judgement.elapsed);
    case Reason::wall_clock_skew:
      return log::wall_clock_skew(lock, judgement.elapsed);
    case Reason::clock_stepped:
      return log::store_clock_stepped(seen.now->clock);
    case Reason::silent:
      return log::forcefully_taking_over(lock, judgement.elapsed);
    case Reason::ended:
      return log::taking_over_from_ended(lock);
    case Reason::not_counted:
      return log::taking_over_what_counts_nowhere(lock);
  }
}

void RefusalLog::claim_refused(const Inspection& seen, const protocol::Judgement& judgement,
                               const std::string& name) {
  if (judgement.verdict == protocol::Verdict::dead) return log::could_not_take_over(*seen.lock);
  log::claim_came_second(name);
}

}  // namespace distlock
