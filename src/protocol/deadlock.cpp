#include "protocol/deadlock.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "saturating.h"
#include "text.h"

namespace distlock::deadlock {
namespace {

constexpr char kHaving = '=';
constexpr char kWithDeadline = '~';
constexpr char kInside = '^';

// Whether the mark is in what is added to the end of a `who`.
bool ends_with_mark(std::string_view who, char mark) {
  const std::string_view end = who.substr(std::min(who.rfind(':'), who.size()));
  return end.substr(0, end.find(kHaving)).find(mark) != std::string_view::npos;
}

// `process:thread` of `process:thread:random`: the same for all that one thread does.
std::string_view thread_of(std::string_view who) { return who.substr(0, who.rfind(':')); }

bool came_later(const Wait& a, const Wait& b) {
  return std::tie(a.waiter.since, a.waiter.ticket) > std::tie(b.waiter.since, b.waiter.ticket);
}

// The wait of each thread, by the thread's name in `who`.
using Waits = std::map<std::string_view, Wait>;

// A clock may have been set back in between, or another server's may be behind.
constexpr std::chrono::seconds kClocksApart{30};

void judge_places_of_the_past(Waits& waits, const std::vector<LockRecord>& locks) {
  for (const LockRecord& lock : locks) {
    if (!lock.taken() || !lock.when) continue;
    const auto wait = waits.find(thread_of(lock.who));
    if (wait == waits.end()) continue;
    const auto later_by = saturating_difference(*lock.when, wait->second.waiter.since);
    if (later_by > later_by.zero()) wait->second.may_be_left = true;
    if (later_by > kClocksApart) waits.erase(wait);
  }
}

std::string list_of(char mark, const std::vector<Token>& holds) {
  constexpr std::size_t kMost = 8;
  std::string end;
  for (std::size_t i = 0; i < std::min(kMost, holds.size()); ++i) {
    end += end.empty() ? mark : ',';
    end += to_hex(holds[i]);
  }
  return end;
}

using ByHold = std::multimap<std::string_view, const Waiter*>;

// Those in line whose `who` names holds behind that mark, by each hold's `ts`.
ByHold named_in_line(const std::vector<LockRecord>& locks, char mark) {
  ByHold named;
  for (const LockRecord& lock : locks) {
    for (const Waiter& waiter : lock.line) {
      std::string_view rest = waiter.who;
      rest.remove_prefix(std::min(rest.find(mark, rest.rfind(':')), rest.size()));
      if (mark == kInside) rest = rest.substr(0, rest.find(kHaving));
      while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view one = rest.substr(0, rest.find(','));
        named.emplace(one, &waiter);
        rest.remove_prefix(one.size());
      }
    }
  }
  return named;
}

// The same locks. Of a hold that may be passed on, its thread tells where it stands in line: it
// passes nothing on while it waits.
std::vector<LockRecord> with_holders_in_line(const std::vector<LockRecord>& all) {
  const auto holders = named_in_line(all, kHaving);
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
  judge_places_of_the_past(waits, locks);
  std::erase_if(waits, [](const auto& wait) {
    return ends_with_mark(wait.second.waiter.who, kWithDeadline);
  });
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

bool is_held_by(const Wait& wait, const Wait& next) {
  return !may_be_passed_on(wait.holder) && thread_of(wait.holder) == thread_of(next.waiter.who);
}

const Wait& next_in(const Cycle& cycle, std::size_t place) {
  return cycle[(place + 1) % cycle.size()];
}

// That of the thread that holds, and those of its command.
std::vector<const Wait*> waits_behind(const Wait& wait, const Waits& waits,
                                      const ByHold& in_commands) {
  std::vector<const Wait*> behind;
  const auto own = waits.find(thread_of(wait.holder));
  if (own != waits.end() && is_held_by(wait, own->second)) behind.push_back(&own->second);
  const std::string hold = to_hex(wait.hold);
  for (auto [one, last] = in_commands.equal_range(hold); one != last; ++one) {
    const auto other = waits.find(thread_of(one->second->who));
    const bool there = other != waits.end() && other->second.waiter.ticket == one->second->ticket;
    if (there) behind.push_back(&other->second);
  }
  return behind;
}

// Each wait that was reached, with the one that it was reached from.
using Reached = std::map<const Wait*, const Wait*>;

Cycle way_to(const Wait* last, const Reached& reached) {
  Cycle way;
  for (; last != nullptr; last = reached.at(last)) way.push_back(*last);
  std::reverse(way.begin(), way.end());
  return way;
}

// The shortest, or nothing.
Cycle cycle_through(const Wait& first, const Waits& waits, const ByHold& in_commands) {
  Reached reached{{&first, nullptr}};
  std::vector<const Wait*> in_order{&first};
  std::set<Token> holds;  // All who wait for one hold have the same waits behind them.
  for (std::size_t at = 0; at < in_order.size(); ++at) {
    const Wait* const wait = in_order[at];
    if (!holds.insert(wait->hold).second) continue;
    for (const Wait* const next : waits_behind(*wait, waits, in_commands)) {
      if (next == &first) return way_to(wait, reached);
      if (reached.emplace(next, wait).second) in_order.push_back(next);
    }
  }
  return {};
}

void begin_with_last(Cycle& cycle) {
  const auto came_earlier = [](const Wait& a, const Wait& b) { return came_later(b, a); };
  std::rotate(cycle.begin(), std::max_element(cycle.begin(), cycle.end(), came_earlier),
              cycle.end());
}

}  // namespace

std::string passed_on_up_to(std::int64_t times) { return '+' + std::to_string(times); }

std::string with_deadline() { return {kWithDeadline}; }

bool may_be_passed_on(std::string_view who) { return ends_with_mark(who, '+'); }

std::string having(const std::vector<Token>& holds) { return list_of(kHaving, holds); }

std::string inside(const std::vector<Token>& holds) { return list_of(kInside, holds); }

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

bool is_certain(const Cycle& cycle) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (!is_held_by(cycle[i], next_in(cycle, i))) return false;
  }
  return true;
}

std::vector<Cycle> possible_cycles(const std::vector<LockRecord>& all,
                                   const std::vector<Hidden>& hidden) {
  const ByHold in_commands = named_in_line(all, kInside);
  if (in_commands.empty()) return {};
  const std::vector<LockRecord> locks = with_holders_in_line(all);
  const Waits waits = waits_in(locks, hidden);
  std::vector<Cycle> found;
  for (const auto& [thread, wait] : waits) {
    Cycle cycle = cycle_through(wait, waits, in_commands);
    if (is_certain(cycle)) continue;
    begin_with_last(cycle);
    if (std::find(found.begin(), found.end(), cycle) == found.end())
      found.push_back(std::move(cycle));
  }
  return found;
}

std::string in_words(const Cycle& cycle, const std::string& first) {
  const auto name = [&](std::string_view who) {
    const std::string_view thread = thread_of(who);
    const bool is_first = thread == thread_of(cycle.front().waiter.who);
    return is_first && !first.empty() ? first : escaped(std::string(thread));
  };
  std::string words;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Wait& wait = cycle[i];
    words += i == 0 ? name(wait.waiter.who) : ", which";
    words += " waits for " + in_quotes(wait.lock) + ", held by " + name(wait.holder);
    const Wait& next = next_in(cycle, i);
    if (!is_held_by(wait, next)) words += ", whose command contains " + name(next.waiter.who);
  }
  return words;
}

}  // namespace distlock::deadlock
