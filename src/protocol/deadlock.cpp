#include "protocol/deadlock.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "text.h"

namespace distlock::deadlock {
namespace {

constexpr char kHaving = '=';

// `process:thread` of `process:thread:random`: the same for all that one thread does.
std::string_view thread_of(std::string_view who) { return who.substr(0, who.rfind(':')); }

bool came_later(const Wait& a, const Wait& b) {
  return std::tie(a.waiter.since, a.waiter.ticket) > std::tie(b.waiter.since, b.waiter.ticket);
}

// The wait of each thread, by the thread's name in `who`.
using Waits = std::map<std::string_view, Wait>;

void leave_out_places_of_the_past(Waits& waits, const std::vector<LockRecord>& locks) {
  for (const LockRecord& lock : locks) {
    if (!lock.taken() || !lock.when) continue;
    const auto wait = waits.find(thread_of(lock.who));
    if (wait != waits.end() && *lock.when > wait->second.waiter.since) waits.erase(wait);
  }
}

// Those in line whose `who` names holds that their threads have, by each hold's `ts`.
std::multimap<std::string_view, const Waiter*> holders_in_line(
    const std::vector<LockRecord>& locks) {
  std::multimap<std::string_view, const Waiter*> holders;
  for (const LockRecord& lock : locks) {
    for (const Waiter& waiter : lock.line) {
      std::string_view rest = waiter.who;
      rest.remove_prefix(std::min(rest.find(kHaving, rest.rfind(':')), rest.size()));
      while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view one = rest.substr(0, rest.find(','));
        holders.emplace(one, &waiter);
        rest.remove_prefix(one.size());
      }
    }
  }
  return holders;
}

// The same locks. Of a hold that may be passed on, its thread tells where it stands in line: it
// passes nothing on while it waits.
std::vector<LockRecord> with_holders_in_line(const std::vector<LockRecord>& all) {
  const auto holders = holders_in_line(all);
  std::vector<LockRecord> locks = all;
  for (LockRecord& lock : locks) {
    if (!lock.ts || !may_be_passed_on(lock.who)) continue;
    const std::string ts = to_hex(*lock.ts);
    const auto [first, last] = holders.equal_range(ts);
    const auto holder = std::find_if(
        first, last, [&](const auto& one) { return one.second->process == lock.process; });
    if (holder != last) lock.who = std::string(thread_of(holder->second->who)) + ":0";
  }
  return locks;
}

void add(const LockRecord& lock, const Waiter& waiter, Waits& waits) {
  const Wait wait{lock.name, waiter, *lock.ts, lock.who};
  const auto [known, added] = waits.try_emplace(thread_of(waiter.who), wait);
  if (!added && came_later(wait, known->second)) known->second = wait;
}

Waits waits_in(const std::vector<LockRecord>& locks, const std::vector<Hidden>& hidden) {
  std::multimap<std::string_view, const Waiter*> behind;
  for (const Hidden& one : hidden) behind.emplace(one.lock, &one.waiter);
  Waits waits;
  for (const LockRecord& lock : locks) {
    if (!lock.taken() || !lock.ts) continue;
    for (const Waiter& waiter : lock.line) add(lock, waiter, waits);
    const auto [first, last] = behind.equal_range(lock.name);
    for (auto one = first; one != last; ++one) add(lock, *one->second, waits);
  }
  leave_out_places_of_the_past(waits, locks);
  return waits;
}

// Back to the thread that it begins with, or nothing. Each thread waits for one lock, and each lock
// has one holder: there is one way only.
Cycle cycle_from(std::string_view thread, const Waits& waits) {
  Cycle cycle;
  for (auto wait = waits.find(thread); wait != waits.end() && cycle.size() < waits.size();) {
    cycle.push_back(wait->second);
    if (may_be_passed_on(wait->second.holder)) return {};
    const std::string_view holder = thread_of(wait->second.holder);
    if (holder == thread) return cycle;
    wait = waits.find(holder);
  }
  return {};
}

}  // namespace

std::string passed_on_up_to(std::int64_t times) { return '+' + std::to_string(times); }

bool may_be_passed_on(std::string_view who) {
  const auto end = who.find(kHaving, who.rfind(':'));
  const auto passes = who.find('+', who.rfind(':'));
  return passes != std::string_view::npos && passes < end;
}

std::string having(const std::vector<Token>& holds) {
  constexpr std::size_t kMost = 8;
  std::string end;
  for (std::size_t i = 0; i < std::min(kMost, holds.size()); ++i) {
    end += end.empty() ? kHaving : ',';
    end += to_hex(holds[i]);
  }
  return end;
}

std::vector<Cycle> cycles(const std::vector<LockRecord>& all, const std::vector<Hidden>& hidden) {
  const std::vector<LockRecord> locks = with_holders_in_line(all);
  const Waits waits = waits_in(locks, hidden);
  std::vector<Cycle> found;
  for (const auto& [thread, wait] : waits) {
    Cycle cycle = cycle_from(thread, waits);
    // Once, by its last.
    const bool begins_with_last =
        std::none_of(cycle.begin(), cycle.end(),
                     [&, &first = wait](const Wait& other) { return came_later(other, first); });
    if (!cycle.empty() && begins_with_last) found.push_back(std::move(cycle));
  }
  return found;
}

std::string in_words(const Cycle& cycle) {
  std::string words;
  for (const Wait& wait : cycle) {
    words += words.empty() ? escaped(std::string(thread_of(wait.waiter.who))) : ", which";
    words += " waits for " + in_quotes(wait.lock) + ", held by ";
    words += escaped(std::string(thread_of(wait.holder)));
  }
  return words;
}

}  // namespace distlock::deadlock
