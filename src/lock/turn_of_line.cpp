#include "lock/turn_of_line.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "saturating.h"
#include "turns.h"

namespace distlock {
namespace {

constexpr std::chrono::minutes kQuietMost{1};

}  // namespace

std::chrono::nanoseconds TurnOfLine::left(const protocol::Judgement& dead, const Inspection& seen,
                                          std::chrono::milliseconds window, SteadyTime now) {
  const auto last = line::rings_after(Token{}, seen.lock->line);
  if (dead.reason != protocol::Reason::ended)
    return last - std::min(last, saturating_difference(StoreTime{dead.elapsed}, StoreTime{window}));
  if (std::exchange(ended_, seen.lock->ts) != seen.lock->ts) ended_seen_ = now;
  const bool one_clock = seen.ping->clock == seen.now->clock;
  const auto quiet_for = saturating_difference(seen.now->time, seen.ping->ping);
  if (!one_clock || quiet_for >= kQuietMost) return std::chrono::nanoseconds{0};
  return last - (now - ended_seen_);
}

bool somebody_lives(const std::vector<Waiter>& line, const std::vector<Listed<PingRecord>>& pings) {
  std::set<std::string_view> living;
  for (const auto& ping : pings) {
    if (!ping.record || !ping.record->ended) living.insert(ping.id);
  }
  return std::any_of(line.begin(), line.end(), [&](const Waiter& one) {
    return !one.passed_over && living.contains(one.process);
  });
}

}  // namespace distlock
