#include "cli/looks.h"

#include <algorithm>

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

// Long enough to cost little where something cannot be killed or seen.
constexpr milliseconds kPauseOfLooksMost{1000};

}  // namespace

void Looks::take(const Look& look, SteadyTime kill_at) {
  empty_ = look.none ? empty_ + 1 : 0;
  const bool kills = look.at >= kill_at;
  if (look.killed || (kills && !kills_)) pause_ = kKillAgainAfter;
  kills_ = kills;
  next_ = look.none ? look.at : look.at + pause_;
  if (!kills) next_ = std::min(next_, kill_at);
  pause_ = std::min(2 * pause_, kPauseOfLooksMost);
}

}  // namespace distlock::cli
