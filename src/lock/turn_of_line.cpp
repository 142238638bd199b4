#include "lock/turn_of_line.h"

#include <utility>

#include "saturating.h"
#include "turns.h"

namespace distlock {
namespace {

constexpr std::chrono::minutes kQuietMost{1};

}  // namespace

bool TurnOfLine::lasts(const protocol::Judgement& dead, const Inspection& seen,
                       std::chrono::milliseconds window, SteadyTime now) {
  const auto last = line::rings_after(line::place_of(Token{}, seen.lock->line));
  if (dead.reason != protocol::Reason::ended)
    return saturating_difference(StoreTime{dead.elapsed}, StoreTime{window}) < last;
  if (std::exchange(ended_, seen.lock->ts) != seen.lock->ts) ended_seen_ = now;
  const bool quiet = saturating_difference(seen.now->time, seen.ping->ping) >= kQuietMost;
  return !quiet && now - ended_seen_ < last;
}

}  // namespace distlock
