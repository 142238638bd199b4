#include "lock/deadlock_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "distlock/error.h"

namespace distlock {
namespace {

using std::chrono::nanoseconds;

// Rarely: each look reads all locks, and a cycle does not go away.
constexpr std::chrono::minutes kPauseMost{1};
constexpr std::chrono::seconds kConfirmAfter{1};

std::vector<LockRecord> sound_locks(Listing listing) {
  std::vector<LockRecord> locks;
  for (auto& listed : listing.locks) {
    if (listed.record) locks.push_back(std::move(*listed.record));
  }
  return locks;
}

// The cycle that the waiter at this place has to end, or nothing.
deadlock::Cycle cycle_ended_by(const Token& ticket, const std::vector<LockRecord>& locks) {
  for (deadlock::Cycle& cycle : deadlock::cycles(locks)) {
    if (cycle.front().waiter.ticket == ticket) return std::move(cycle);
  }
  return {};
}

}  // namespace

DeadlockWatch::DeadlockWatch(nanoseconds after, SteadyTime begun)
    : pause_(after), due_(after > nanoseconds{0} ? begun + after : SteadyTime::max()) {}

void DeadlockWatch::look(Store& store, const Token& ticket, Clock& clock) {
  look_at([&] { return sound_locks(store.list()); }, ticket, clock);
}

void DeadlockWatch::look_from_behind(Store& store, std::string_view name, const Waiter& hidden,
                                     Clock& clock) {
  const auto with_it = [&] {
    std::vector<LockRecord> locks = sound_locks(store.list());
    for (LockRecord& lock : locks) {
      if (lock.name == name) lock.line.push_back(hidden);
    }
    return locks;
  };
  look_at(with_it, hidden.ticket, clock);
}

void DeadlockWatch::look_at(const Locks& locks, const Token& ticket, Clock& clock) {
  deadlock::Cycle cycle;
  try {
    cycle = cycle_ended_by(ticket, locks());
  } catch (const Error&) {
    look_later(clock.steady_now());  // The wait itself finds what is wrong with the store.
    return;
  }
  if (!cycle.empty() && cycle == suspected_) {
    throw Error(Errc::deadlock, "deadlock: " + deadlock::in_words(cycle));
  }
  suspected_ = std::move(cycle);
  if (suspected_.empty()) return look_later(clock.steady_now());
  due_ = clock.steady_now() + std::min<nanoseconds>(kConfirmAfter, pause_);
}

void DeadlockWatch::look_later(SteadyTime now) {
  pause_ = std::min<nanoseconds>(2 * pause_, kPauseMost);
  due_ = now + pause_;
}

}  // namespace distlock
