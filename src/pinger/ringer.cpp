#include "pinger/ringer.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <exception>
#include <new>
#include <utility>

#include "turns.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;
using Guard = boost::lock_guard<boost::mutex>;

// All places of a line are open by then.
constexpr milliseconds kWholeLine{1000};
// A release is followed for so long where the store does not answer.
constexpr milliseconds kFollowedMost{5000};
// A waiter that is there has mostly claimed by then.
constexpr milliseconds kClaimed{5};
// So long from one look to the next at least.
constexpr milliseconds kStep{5};

std::set<std::string> set_of(const std::vector<std::string>& processes) {
  return {processes.begin(), processes.end()};
}

}  // namespace

Freed Ringer::release(const std::string& name, const Token& ts, ReleaseRule rule,
                      const Limit& ring_until, RingBy ring_by) {
  Line* const line = environment_.store->line();
  if (line == nullptr) return {.result = environment_.store->release(name, ts)};
  Freed freed = line->release_and_tell(name, ts, rule);
  const SteadyTime now = environment_.clock->steady_now();
  const SteadyTime until = now + kFollowedMost;
  // An earlier request may have freed it, whose answer with the next ones was lost.
  if (freed.result == ReleaseResult::already_free) follow(name, {ts, {}, now, until});
  if (freed.result != ReleaseResult::freed) return freed;
  std::vector<std::string> told = freed.next;
  const bool over = ring_until.over(*environment_.clock);
  const bool by_a_round = ring_by == RingBy::a_round || over;
  if (by_a_round && !told.empty() && follow(name, {ts, {}, now, until})) {
    std::erase_if(told, [&](const auto& process) { return process != environment_.process; });
    ring(name, std::move(told));
    return freed;
  }
  if (freed.then.empty()) {
    forget(name);
  } else if (!follow(name, {ts, set_of(freed.next), now + freed.then_in, until})) {
    told.push_back(freed.then);
  }
  if (over)
    std::erase_if(told, [&](const auto& process) { return process != environment_.process; });
  ring(name, std::move(told));
  return freed;
}

// A waiter that is not told finds out by looking (R19).
void Ringer::ring(const std::string& name, std::vector<std::string> processes) const {
  if (std::erase(processes, environment_.process) > 0) lobby_.ring(name);
  try {
    if (!processes.empty()) environment_.store->line()->ring(name, processes);
  } catch (const std::exception&) {
    // The release has taken effect all the same.
  }
}

void Ringer::forget(const std::string& name) {
  const Guard lock(mutex_);
  all_.erase(name);
}

// False: nobody will look.
bool Ringer::follow(const std::string& name, Freeing freeing) {
  const SteadyTime due = freeing.due;
  {
    const Guard lock(mutex_);
    if (finished_) return false;
    try {
      all_.insert_or_assign(name, std::move(freeing));
    } catch (const std::bad_alloc&) {
      return false;
    }
    if (due >= next_) return true;
    next_ = due;
  }
  wake_.ring();
  return true;
}

Ringer::Due Ringer::round(const Limit& limit) noexcept {
  const SteadyTime now = environment_.clock->steady_now();
  std::stop_token changed;
  // Armed first, so that no release in between is overlooked.
  try {
    changed = wake_.arm();
  } catch (const std::bad_alloc&) {
    return {now + line::kTurn, {}};
  }
  while (!limit.over(*environment_.clock)) {
    All::node_type one = take_due(now);
    if (!one) break;
    if (go_on(one.key(), one.mapped(), limit)) put_back(std::move(one));
  }
  return {set_next(), changed};
}

Ringer::All::node_type Ringer::take_due(SteadyTime now) {
  const Guard lock(mutex_);
  const auto due = std::find_if(all_.begin(), all_.end(),
                                [&](const auto& one) { return one.second.due <= now; });
  return due == all_.end() ? All::node_type{} : all_.extract(due);
}

// False: nobody is left to be told.
bool Ringer::go_on(const std::string& name, Freeing& freeing, const Limit& limit) const {
  const auto now = [&] { return environment_.clock->steady_now(); };
  try {
    const Inspection seen = environment_.store->inspect(name, Freshness::ordinary);
    const auto& lock = seen.lock;
    if (!lock || lock->taken() || lock->ts != freeing.ts || !lock->freed_at) return false;
    // They are told by finish(), or find out by looking.
    if (limit.over(*environment_.clock)) return true;
    line::Turns turns = line::turns_in(lock->line, *lock->freed_at, seen.now->time);
    std::erase_if(turns.now,
                  [&](const std::string& process) { return !freeing.told.insert(process).second; });
    ring(name, std::move(turns.now));
    if (turns.then.empty()) return false;
    freeing.due = now() + std::clamp(turns.then_in, kStep, kWholeLine);
  } catch (...) {
    // The store may answer again in a turn.
    freeing.due = now() + line::kTurn;
  }
  return now() < freeing.until;
}

// Unless the lock has been held and freed again meanwhile.
void Ringer::put_back(All::node_type one) {
  const Guard lock(mutex_);
  if (!given_up_) all_.insert(std::move(one));
}

SteadyTime Ringer::set_next() {
  const Guard lock(mutex_);
  next_ = SteadyTime::max();
  for (const auto& [name, freeing] : all_) next_ = std::min(next_, freeing.due);
  return next_;
}

void Ringer::finish() noexcept {
  Clock& clock = *environment_.clock;
  const SteadyTime begun = clock.steady_now();
  const Limit limit{begun + kWholeLine, {}};
  SteadyTime next = hasten(begun + kClaimed);
  while (next < limit.deadline && !limit.over(clock) && clock.wait_until(next, {}))
    next = round(limit).next;
  const Guard lock(mutex_);
  given_up_ = true;
  all_.clear();
}

SteadyTime Ringer::hasten(SteadyTime due) {
  {
    const Guard lock(mutex_);
    finished_ = true;
    for (auto& [name, freeing] : all_) freeing.due = std::min(freeing.due, due);
  }
  return set_next();
}

}  // namespace distlock
