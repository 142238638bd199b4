#include <algorithm>

#include "sim/oracle.h"

// Holds that somebody else ended, and whether their process notices (R9).
namespace distlock::sim {

// A malformed document may not tell whether the hold is still there.
bool Oracle::gone(const Belief& belief) {
  if (mirrored_) return ended_for_all_(belief);
  const StoredLock& lock = now_stored(belief.lock);
  return lock.sound && (!lock.taken || lock.ts != belief.ts);
}

Time Oracle::gone_since(const Belief& belief) {
  if (!mirrored_) return history(belief.lock).versions.back().since;
  return looking_[belief.process].seen_gone.try_emplace(belief.ts, scheduler_.now()).first->second;
}

void Oracle::heard_of_durable_write(std::string_view process, Time sent) {
  Looking& looking = looking_[std::string(process)];
  looking.durable = std::max(looking.durable, sent);
}

void Oracle::asks_for_holds(std::string_view process) {
  Looking& looking = looking_[std::string(process)];
  looking.asked_without.clear();
  for (const Belief& belief : beliefs_) {
    if (belief.process != process) continue;
    if (!gone(belief)) {
      looking.seen_gone.erase(belief.ts);
      continue;
    }
    const Time since = gone_since(belief);
    // An earlier look at a majority may still show it.
    if (mirrored_ || since < looking.durable) looking.asked_without.emplace(belief.ts, since);
    const auto heard = looking.heard_without.find(belief.ts);
    const bool knew = heard != looking.heard_without.end() && heard->second == since;
    if (!knew || belief.object->valid_until() <= belief.clock->steady_at_this_moment()) continue;
    violate(belief.process + " has looked at its holds, and still believes in that of " +
            belief.lock + ", which was gone");
  }
}

// A hold that came back meanwhile, or ended once more, is left to the next look.
void Oracle::heard_of_holds(std::string_view process, Time listed_since) {
  Looking& looking = looking_[std::string(process)];
  looking.heard_without.clear();
  for (const auto& [ts, since] : looking.asked_without) {
    const Belief* belief = belief_of(ts);
    if (belief == nullptr || !gone(*belief) || since >= listed_since) continue;
    if (gone_since(*belief) == since) {
      looking.heard_without.emplace(ts, since);
    }
  }
}

// At some time since then.
bool Oracle::was_stored(const std::vector<Version>& versions, const Token& ts, Time since) {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (i + 1 < versions.size() && versions[i + 1].since < since) continue;
    if (versions[i].lock.taken && versions[i].lock.ts == ts) return true;
  }
  return false;
}

void Oracle::still_held_said(const Belief& belief, Time asked, bool answer) {
  const LockHistory& lock = history(belief.lock);
  const auto& versions = mirrored_ ? lock.versions_for_uninformed : lock.versions;
  if (answer && !was_stored(versions, belief.ts, asked)) {
    violate("still_held() of " + belief.process + " said yes, but the store did not have the hold");
  }
  if (!answer && valid(belief)) {
    violate("still_held() of " + belief.process + " said no, and left the hold valid");
  }
}

void Oracle::could_not_look(std::string_view process, std::string_view name) {
  Looking& looking = looking_[std::string(process)];
  std::erase_if(looking.heard_without, [&](const auto& without) {
    const Belief* belief = belief_of(without.first);
    return belief == nullptr || belief->lock == name;
  });
}

bool Oracle::is_as_claimed(const StoredLock& lock, Time silent_at_most) const {
  const auto claim = lock.taken && lock.sound && lock.ts ? claims_.find(*lock.ts) : claims_.end();
  const auto ping = pings_.find(lock.process);
  return claim != claims_.end() && ping != pings_.end() && lock.process == claim->second.process &&
         lock.fence == claim->second.last_fence &&
         lock.takeover_after == claim->second.takeover_after &&
         scheduler_.now() - ping->second.stamped <= silent_at_most;
}

}  // namespace distlock::sim
