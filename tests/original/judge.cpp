#include "original/judge.h"

#include <algorithm>

#include "sim/sim_clock.h"

namespace distlock::original {

using sim::StoredLock;
using sim::Time;

// Notes the first write that ended a hold in the store.
void Judge::wrote(const Write& write, const StoredLock& before, const StoredLock& after) {
  if (!before.taken || !before.ts || after.ts != before.ts || after.taken) return;
  const Pings& pings = pings_[before.process];
  freed_.try_emplace(*before.ts, Freed{.verb = std::string(write.verb),
                                       .by = std::string(write.process),
                                       .meant = write.meant,
                                       .holder_was_silent = now() - pings.last >= window_,
                                       .by_a_fast_clock = pings.last_ahead > -window_ / 2});
}

// A process's clock, as its ping shows it.
void Judge::pinged(std::string_view process, StoreTime ping) {
  const Time said{ping.time_since_epoch() - sim::kEpoch};
  pings_[std::string(process)] = {now(), said - now(), true, false};
}

void Judge::removed_ping(std::string_view /*by*/, std::string_view process) {
  pings_[std::string(process)].removed = true;
}

Flaw Judge::cause(const Belief& loser, const Freed& freed) const {
  if (freed.verb == "unlock") {
    return freed.by == loser.process ? Flaw::own_late_unlock : Flaw::late_unlock;
  }
  if (freed.meant != loser.ts) return Flaw::double_takeover;
  if (freed.holder_was_silent) return Flaw::silent_holder;
  return freed.by_a_fast_clock ? Flaw::fast_clock : Flaw::slow_clock;
}

void Judge::holds(std::string_view process, std::string_view lock, const Token& ts) {
  for (const Belief& loser : beliefs_) {
    const auto freed = freed_.find(loser.ts);
    if (loser.lock != lock || freed == freed_.end()) continue;
    found(cause(loser, freed->second), loser.process + " and " + std::string(process) + " hold " +
                                           loser.lock + "; " + freed->second.verb + " by " +
                                           freed->second.by + " freed the first's");
  }
  beliefs_.push_back({std::string(process), std::string(lock), ts});
}

void Judge::gives_up(std::string_view /*process*/, const Token& ts) {
  std::erase_if(beliefs_, [&](const Belief& belief) { return belief.ts == ts; });
  given_up_.insert(ts);
}

void Judge::died(std::string_view process) {
  std::erase_if(beliefs_, [&](const Belief& belief) { return belief.process == process; });
  dead_.emplace(process);
}

void Judge::judge_leftover(const std::string& lock, const StoredLock& stored) {
  if (!stored.taken || !stored.ts) return;
  const Pings& pings = pings_[stored.process];
  const std::string what = lock + " stays with " + stored.process;
  if (!dead_.contains(stored.process)) {
    return found(given_up_.contains(*stored.ts) ? Flaw::stuck_unlock : Flaw::stuck_claim, what);
  }
  if (!pings.ever) return found(Flaw::no_first_ping, what);
  if (pings.removed) return found(Flaw::cleanup_wedge, what);
  if (pings.last + pings.last_ahead > now() + std::chrono::days{1}) {
    found(Flaw::ping_in_the_future, what);
  }
}

}  // namespace distlock::original
