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
constexpr nanoseconds kConfirmAfter = std::chrono::seconds{1};

template <typename Record>
std::vector<Record> sound(std::vector<Listed<Record>> listed) {
  std::vector<Record> records;
  for (auto& one : listed) {
    if (one.record) records.push_back(std::move(*one.record));
  }
  return records;
}

bool stands_in(const deadlock::Cycle& cycle, const Token& ticket) {
  return std::any_of(cycle.begin(), cycle.end(),
                     [&](const deadlock::Wait& wait) { return wait.waiter.ticket == ticket; });
}

// The cycle with this waiter in it, or nothing.
deadlock::Cycle cycle_of(const Token& ticket, const std::vector<LockRecord>& locks) {
  for (deadlock::Cycle& cycle : deadlock::cycles(locks)) {
    if (stands_in(cycle, ticket)) return std::move(cycle);
  }
  return {};
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

DeadlockWatch::DeadlockWatch(nanoseconds after, SteadyTime begun, std::string process,
                             GivenUp given_up, HolderOf holder_of)
    : process_(std::move(process)),
      given_up_(std::move(given_up)),
      holder_of_(std::move(holder_of)),
      pause_(after),
      due_(after > nanoseconds{0} ? begun + after : SteadyTime::max()) {}

DeadlockWatch::Seen DeadlockWatch::look(Store& store, const Token& ticket, Clock& clock) {
  return look_at([&] { return store.list(); }, ticket, clock);
}

DeadlockWatch::Seen DeadlockWatch::look_from_behind(Store& store, std::string_view name,
                                                    const Waiter& hidden, Clock& clock) {
  const auto with_it = [&] {
    Listing seen = store.list();
    for (auto& lock : seen.locks) {
      if (lock.record && lock.record->name == name) lock.record->line.push_back(hidden);
    }
    return seen;
  };
  return look_at(with_it, hidden.ticket, clock);
}

DeadlockWatch::Seen DeadlockWatch::look_at(const List& list, const Token& ticket, Clock& clock) {
  Listing seen;
  try {
    seen = list();
  } catch (const Error&) {
    look_later(clock.steady_now());  // The wait itself finds what is wrong with the store.
    return Seen::no_cycle;
  }
  if (!came_) came_ = seen.now.time;
  std::vector<LockRecord> locks = sound(std::move(seen.locks));
  leave_out_given_up(locks);
  put_holders_in(locks);
  deadlock::Cycle cycle = cycle_of(ticket, locks);
  const std::vector<PingRecord> pings = sound(std::move(seen.pings));
  const StoreTime last = last_came(cycle, *came_);
  const auto lives = [&](const std::string& process) {
    return pinged_since(last, process, pings, seen.now);
  };
  if (cycle.empty() || cycle.front().waiter.ticket != ticket) {
    suspected_.clear();
    look_later(clock.steady_now());
    if (cycle.empty()) return Seen::no_cycle;
  } else {
    const bool all_live = std::all_of(cycle.begin(), cycle.end(), [&](const deadlock::Wait& wait) {
      const std::string& process = wait.waiter.process;
      return process == process_ || lives(process);
    });
    believe_or_suspect(std::move(cycle), all_live, clock.steady_now());
  }
  return lives(process_) ? Seen::cycle : Seen::cycle_without_our_ping;
}

// The pinger gives holds and places up after its ping. So a second look comes after the pings.
void DeadlockWatch::believe_or_suspect(deadlock::Cycle cycle, bool all_live, SteadyTime now) {
  const bool again = cycle == suspected_;
  if (again && lived_ && all_live) {
    throw Error(Errc::deadlock, "deadlock: " + deadlock::in_words(cycle));
  }
  lived_ = all_live;
  confirm_after_ = again && !all_live ? 2 * confirm_after_ : kConfirmAfter;
  confirm_after_ = std::min(confirm_after_, pause_);
  due_ = now + confirm_after_;
  suspected_ = std::move(cycle);
}

// Their release is on its way, so that nobody waits for them for good.
void DeadlockWatch::leave_out_given_up(std::vector<LockRecord>& locks) const {
  for (LockRecord& lock : locks) {
    if (lock.process == process_ && lock.ts && given_up_(*lock.ts)) lock.state = LockState::free;
    std::erase_if(lock.line, [&](const Waiter& one) {
      return one.process == process_ && given_up_(one.ticket);
    });
  }
}

void DeadlockWatch::put_holders_in(std::vector<LockRecord>& locks) const {
  for (LockRecord& lock : locks) {
    if (lock.process != process_ || !lock.ts || !lock.taken()) continue;
    if (const auto thread = holder_of_(*lock.ts)) lock.who = *thread + ":0";
  }
}

void DeadlockWatch::look_later(SteadyTime now) {
  pause_ = std::min<nanoseconds>(2 * pause_, kPauseMost);
  due_ = now + pause_;
}

}  // namespace distlock
