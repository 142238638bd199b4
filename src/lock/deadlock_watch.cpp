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

// When the last of the cycle came, as far as the store knows.
StoreTime last_came(const deadlock::Cycle& cycle) {
  StoreTime last = StoreTime::min();
  for (const deadlock::Wait& wait : cycle) {
    if (wait.waiter.since < StoreTime::max()) last = std::max(last, wait.waiter.since);
  }
  return last;
}

// Whether the process has pinged since, and so had not ended before.
bool pinged_since(StoreTime time, const std::string& process, const std::vector<PingRecord>& all) {
  return std::any_of(all.begin(), all.end(), [&](const PingRecord& one) {
    return one.process == process && one.ping > time;
  });
}

}  // namespace

DeadlockWatch::DeadlockWatch(nanoseconds after, SteadyTime begun, std::string process)
    : process_(std::move(process)),
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
  deadlock::Cycle cycle = cycle_of(ticket, sound(std::move(seen.locks)));
  const std::vector<PingRecord> pings = sound(std::move(seen.pings));
  const StoreTime last = last_came(cycle);
  const bool we_pinged = pinged_since(last, process_, pings);
  if (cycle.empty() || cycle.front().waiter.ticket != ticket) {
    suspected_.clear();
    look_later(clock.steady_now());
    if (cycle.empty()) return Seen::no_cycle;
  } else {
    const bool all_live = std::all_of(cycle.begin(), cycle.end(), [&](const deadlock::Wait& wait) {
      const std::string& process = wait.waiter.process;
      return process == process_ || pinged_since(last, process, pings);
    });
    believe_or_suspect(std::move(cycle), all_live, clock.steady_now());
  }
  return we_pinged ? Seen::cycle : Seen::cycle_without_our_ping;
}

void DeadlockWatch::believe_or_suspect(deadlock::Cycle cycle, bool all_live, SteadyTime now) {
  const bool again = cycle == suspected_;
  if (again && all_live) {
    throw Error(Errc::deadlock, "deadlock: " + deadlock::in_words(cycle));
  }
  confirm_after_ = again ? 2 * confirm_after_ : kConfirmAfter;
  confirm_after_ = std::min(confirm_after_, pause_);
  due_ = now + confirm_after_;
  suspected_ = std::move(cycle);
}

void DeadlockWatch::look_later(SteadyTime now) {
  pause_ = std::min<nanoseconds>(2 * pause_, kPauseMost);
  due_ = now + pause_;
}

}  // namespace distlock
