#include "turns.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "saturating.h"

namespace distlock::line {
namespace {

// Beyond it more places are open than a line can have.
constexpr int kDoublingsMost = 20;

bool marked(const Waiter& waiter) { return waiter.passed_over.has_value(); }

// How far two times are apart. Another clock may tell the time now than at the release, so that
// which of them is later may mean nothing; and no date in a document overflows.
std::chrono::milliseconds apart(StoreTime one, StoreTime other) {
  return saturating_difference(std::max(one, other), std::min(one, other));
}

std::chrono::milliseconds free_since(StoreTime freed_at, StoreTime now) {
  const std::chrono::milliseconds distance = apart(freed_at, now);
  const bool overtaken = now < freed_at && distance <= kOnItsWayMost;
  return overtaken ? std::chrono::milliseconds{0} : distance;
}

std::uint64_t open_after(int turns) { return (std::uint64_t{2} << turns) - 1; }

}  // namespace

int pace_of(const std::vector<Waiter>& line) {
  const auto marks = std::count_if(line.begin(), line.end(), marked);
  return static_cast<int>(std::min<std::ptrdiff_t>(1 + marks, kTurnsMost));
}

std::uint64_t open_places(std::chrono::milliseconds free_for, int pace) {
  const std::chrono::milliseconds counted = std::min(free_for, kDoublingsMost * kTurn);
  return open_after(
      static_cast<int>(std::min<std::int64_t>(counted * pace / kTurn, kDoublingsMost)));
}

std::chrono::milliseconds opens_after(std::uint64_t place, int pace) {
  int turns = 0;
  while (turns < kDoublingsMost && open_after(turns) <= place) ++turns;
  // The first whole millisecond.
  return (turns * kTurn + std::chrono::milliseconds{pace - 1}) / pace;
}

std::uint64_t place_of(const Token& ticket, const std::vector<Waiter>& line) {
  const auto at = find(ticket, line);
  if (at != line.end() && marked(*at)) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(line.begin(), at, [](const Waiter& waiter) { return !marked(waiter); }));
}

bool may_claim(const Token& ticket, const std::vector<Waiter>& line,
               std::optional<StoreTime> freed_at, StoreTime now) {
  return !freed_at ||
         place_of(ticket, line) < open_places(free_since(*freed_at, now), pace_of(line));
}

std::vector<Waiter> after_claim(const Token& ticket, std::vector<Waiter> line, StoreTime now) {
  const auto front = static_cast<std::size_t>(find(ticket, line) - line.begin());
  for (std::size_t i = 0; i < front; ++i) {
    if (!marked(line[i])) line[i].passed_over = now;
  }
  std::erase_if(line, [&](const Waiter& waiter) {
    return waiter.ticket == ticket ||
           (marked(waiter) && apart(*waiter.passed_over, now) > kMarkedMost);
  });
  return line;
}

std::vector<Waiter>::const_iterator find(const Token& ticket, const std::vector<Waiter>& line) {
  return std::find_if(line.begin(), line.end(),
                      [&](const Waiter& waiter) { return waiter.ticket == ticket; });
}

bool stands(const Token& ticket, const std::vector<Waiter>& line) {
  return find(ticket, line) != line.end();
}

bool waits(const Token& ticket, const std::vector<Waiter>& line) {
  const auto at = find(ticket, line);
  return at != line.end() && !marked(*at);
}

std::vector<Waiter> after_refusal(const Waiter& waiter, std::vector<Waiter> line) {
  for (Waiter& place : line) {
    if (place.ticket == waiter.ticket) place.passed_over.reset();
  }
  if (!stands(waiter.ticket, line) && line.size() < kPlacesMost) line.push_back(waiter);
  return line;
}

std::vector<Waiter> without(const Token& ticket, std::vector<Waiter> line) {
  std::erase_if(line, [&](const Waiter& waiter) { return waiter.ticket == ticket; });
  return line;
}

std::chrono::milliseconds rings_after(std::uint64_t place, int pace) {
  const std::chrono::milliseconds opens = opens_after(place, pace);
  if (opens == std::chrono::milliseconds{0}) return opens;
  // Those that open with it: one more than were open before.
  const std::uint64_t first = open_places(opens - std::chrono::milliseconds{1}, pace);
  return opens + kTurn / pace * (place - first) / (first + 1);
}

std::chrono::milliseconds rings_after(const Token& ticket, const std::vector<Waiter>& line) {
  return rings_after(place_of(ticket, line), pace_of(line));
}

std::chrono::milliseconds turn_in(const Token& ticket, const std::vector<Waiter>& line,
                                  StoreTime freed_at, StoreTime now) {
  return rings_after(ticket, line) - free_since(freed_at, now);
}

Turns turns_in(const std::vector<Waiter>& line, StoreTime freed_at, StoreTime now) {
  const std::chrono::milliseconds free_for = free_since(freed_at, now);
  const int pace = pace_of(line);
  Turns turns;
  std::unordered_set<std::string_view> named;
  std::uint64_t place = 0;
  for (const Waiter& waiter : line) {
    const auto rung = marked(waiter) ? std::chrono::milliseconds{0} : rings_after(place++, pace);
    if (rung > free_for) {
      if (!turns.then.empty()) continue;
      turns.then = waiter.process;
      turns.then_in = rung - free_for;
    } else if (named.insert(waiter.process).second) {
      turns.now.push_back(waiter.process);
    }
  }
  return turns;
}

Freed freed(const std::vector<Waiter>& line) {
  Turns turns = turns_in(line, StoreTime{}, StoreTime{});
  return {ReleaseResult::freed, std::move(turns.now), std::move(turns.then), turns.then_in};
}

}  // namespace distlock::line
