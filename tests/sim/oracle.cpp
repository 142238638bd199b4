#include "sim/oracle.h"

#include <algorithm>

#include "sim/trace.h"

namespace distlock::sim {
void Oracle::violate(const std::string& what) {
  if (!violation_ && judging_) violation_ = "at " + text_of(scheduler_.now()) + ": " + what;
}

Oracle::LockHistory& Oracle::history(const std::string& name) {
  LockHistory& found = locks_[name];
  if (found.versions.empty()) found.versions.push_back({Time{0}, {}});
  return found;
}

const StoredLock& Oracle::now_stored(const std::string& name) {
  return history(name).versions.back().lock;
}

void Oracle::lock_changed(const Doer& by, const std::string& name, const StoredLock& before,
                          const StoredLock& after) {
  if (before == after) return;
  if (changed_) changed_(name, after);
  LockHistory& lock = history(name);
  lock.versions.push_back({scheduler_.now(), after});
  if (by.process.empty()) return touched(name, before, after);
  if (by.call == "claim") return claim_took_effect(by, name, before, after);
  if (by.call == "release") return release_took_effect(by, name, before);
  violate(std::string(by.call) + " of " + std::string(by.process) + " changed lock " + name);
}

void Oracle::touched(const std::string& name, const StoredLock& before, const StoredLock& after) {
  if (before.ts) excused_.insert(*before.ts);
  forget_refusals();
  if (!after.exists || !after.sound || after.fence < before.fence) {
    history(name).greatest_granted = 0;
  }
  if (touched_) touched_(name, before, after);
}

// A request that was refused may come again, and find what it had asked for.
void Oracle::forget_refusals() {
  refused_.clear();
  ++refusal_;
}

void Oracle::lock_rolled_back(const std::string& name, const StoredLock& now) {
  LockHistory& lock = history(name);
  if (lock.versions.back().lock == now) return;
  lock.versions.push_back({scheduler_.now(), now});
  if (now.taken && now.ts) undone_.insert(*now.ts);
  if (changed_) changed_(name, now);
}

void Oracle::note(std::vector<Version>& versions, const StoredLock& lock) const {
  if (versions.empty() || !(versions.back().lock == lock))
    versions.push_back({scheduler_.now(), lock});
}

void Oracle::became(const std::string& name, const StoredLock& now) {
  note(history(name).versions, now);
}

void Oracle::majority_carries(const std::string& name, const StoredLock& now,
                              const StoredLock& for_uninformed) {
  for (auto& [process, looking] : looking_) {
    // A hold that was gone is there again.
    if (!now.taken || !now.ts) break;
    for (auto* holds : {&looking.seen_gone, &looking.asked_without, &looking.heard_without})
      holds->erase(*now.ts);
  }
  note(history(name).versions, now);
  note(history(name).versions_for_uninformed, for_uninformed);
}

// A member may be given the hold of a majority with the fence of a claim that lost there. Or anew,
// where somebody has edited it. Whether two holds have one fence is seen when they are told.
bool Oracle::is_repair(const StoredLock& before, const StoredLock& after) const {
  if (!changed_ || !before.ts || before.fence != after.fence) return false;
  return before.ts == after.ts ? excused(*before.ts) : !before.taken;
}

void Oracle::claim_took_effect(const Doer& by, const std::string& name, const StoredLock& before,
                               const StoredLock& after) {
  if (!after.taken || !after.ts || after.process != by.process) {
    return violate("a claim of " + std::string(by.process) + " left lock " + name + " otherwise");
  }
  if (refused_.contains(*after.ts)) {
    violate("a claim on " + name + " took effect that had been refused");
  }
  if (before.exists && before.sound && after.fence <= before.fence && !is_repair(before, after)) {
    violate("the fence of " + name + " did not grow with a claim");
  }
  if (!pings_.contains(after.process) && !tampered_.contains(after.process)) {
    violate(after.process + " was granted " + name + " without a ping to protect it");
  }
  claims_[*after.ts] = {after.process, scheduler_.now(), after.takeover_after, before.fence + 1,
                        after.fence};
  if (before.taken && before.process != after.process) check_takeover(name, before, after);
  check_rivals(name, after);
}

// Not before the holder has been silent for the window, by the larger of both words.
void Oracle::check_takeover(const std::string& name, const StoredLock& before,
                            const StoredLock& after) {
  const auto ping = pings_.find(before.process);
  const auto claim = claims_.find(before.ts.value_or(Token{}));
  const bool ours = claim != claims_.end() && ping != pings_.end();
  if (!ours || !margins_hold_ || tampered_.contains(before.process) || excused(*before.ts)) return;
  if (ended_.contains(*before.ts)) return;
  const Time window = std::max(before.takeover_after, after.takeover_after);
  const Time tolerated = std::min<Time>(std::chrono::seconds{30}, window / 16);
  const Time slack = clocks_exact_ ? Time{1'000'000} : 2 * tolerated + window / 1000;
  // Once it has been silent for so long the hold is dead, even if it is heard again.
  const Time silent = std::max(scheduler_.now() - ping->second.stamped,
                               ping->second.longest_silence_since(claim->second.when));
  if (silent >= window - slack) return;
  violate(after.process + " took " + name + " over after " + text_of(silent) + " of silence of " +
          before.process + ", with a window of " + text_of(window));
}

void Oracle::check_rivals(const std::string& name, const StoredLock& after) {
  for (const Belief& belief : beliefs_) {
    if (belief.lock != name || belief.ts == *after.ts || excused(belief.ts)) continue;
    if (valid(belief)) {
      violate("lock " + name + " was granted to " + after.process + " while " + belief.process +
              " validly held it");
    }
    const bool own = belief.process == after.process;
    if (!own && belief.told && belief.told->times == 0 && belief.told->could_have_been()) {
      violate("lock " + name + " was granted to " + after.process + " before " + belief.process +
              " was told of its loss");
    }
  }
}

void Oracle::release_took_effect(const Doer& by, const std::string& name,
                                 const StoredLock& before) {
  const auto claim = before.ts ? claims_.find(*before.ts) : claims_.end();
  const Belief* belief = before.ts ? belief_of(*before.ts) : nullptr;
  if (belief != nullptr && belief->lock == name && valid(*belief)) {
    violate("lock " + name + " was freed while " + belief->process + " counted on it");
  }
  // It is as free as after the release that was undone, from which claims were refused meanwhile.
  if (before.ts && undone_.contains(*before.ts)) forget_refusals();
  const bool is_named = before.ts && released_ && released_(by, name, *before.ts);
  if (claim != claims_.end() && claim->second.process == by.process) return;
  if (before.ts && excused(*before.ts)) return;
  if (is_named && named_another_.contains(*before.ts)) return;
  violate("a release of " + std::string(by.process) + " freed lock " + name + " of " +
          before.process);
}

void Oracle::pinged(const std::string& process, Time read_at) {
  Ping& ping = pings_.try_emplace(process, Ping{read_at, {}}).first->second;
  const Time length = read_at - ping.stamped;
  while (!ping.silences.empty() && ping.silences.back().length <= length) ping.silences.pop_back();
  ping.silences.push_back({scheduler_.now(), length});
  ping.stamped = read_at;
}

Time Oracle::Ping::longest_silence_since(Time since) const {
  const auto found = std::find_if(silences.begin(), silences.end(),
                                  [&](const Silence& silence) { return silence.ended >= since; });
  return found == silences.end() ? Time{0} : found->length;
}

void Oracle::ping_removed(const Doer& by, const std::string& process, bool holds_something) {
  const auto ping = pings_.find(process);
  const bool young =
      ping != pings_.end() && scheduler_.now() - ping->second.stamped < std::chrono::days{3};
  if (by.process.empty()) tampered_.insert(process);
  if (by.call == "forget_pings" && young) {
    violate(std::string(by.process) + " removed the young ping of " + process);
  }
  pings_.erase(process);
  if (!by.process.empty() && holds_something) {
    violate(std::string(by.call) + " of " + std::string(by.process) + " removed the ping of " +
            process + ", which protects a hold");
  }
}

void Oracle::granted(const Belief& belief, Time asked) {
  const auto claim = claims_.find(belief.ts);
  if (claim == claims_.end() || claim->second.process != belief.process) {
    return violate(belief.process + " was told that it holds " + belief.lock +
                   ", which the store never granted it");
  }
  // Nothing is passed on there.
  if (!mirrored_ && belief.fence > claim->second.first_fence) {
    check_pass(belief);
  } else if (claim->second.when < asked) {
    violate(belief.process + " was told of a claim on " + belief.lock + " from before it asked");
  }
  Fence& greatest = history(belief.lock).greatest_granted;
  const bool late = excused(belief.ts) || belief.ended_on_the_way;
  if (!late) {
    if (belief.fence <= greatest) {
      violate("fence " + std::to_string(belief.fence) + " of " + belief.lock + " after " +
              std::to_string(greatest));
    }
    greatest = std::max(greatest, belief.fence);
  }
  for (const Belief& other : beliefs_) {
    // Which of two holds ends is not promised for a grant that an outsider undid on its way.
    if (!mirrored_ || late) break;
    const bool rival = other.lock == belief.lock && other.process != belief.process;
    if (!rival || excused(other.ts) || other.told == nullptr || other.told->times > 0) continue;
    if (other.told->could_have_been()) {
      violate(belief.process + " got " + belief.lock + " before " + other.process +
              " was told of its loss");
    }
  }
  if (claim->second.first_told == Time{0}) claim->second.first_told = scheduler_.now();
  beliefs_.push_back(belief);
  if (grant_) grant_(belief);
}

void Oracle::died(std::string_view process) {
  heard_.erase(std::string(process));
  looking_.erase(std::string(process));
  std::erase_if(beliefs_, [&](const Belief& belief) { return belief.process == process; });
}

void Oracle::unlocked(const std::string& name, const Token& ts, Fence fence,
                      const Unlocked& unlocked) {
  const StoredLock& lock = now_stored(name);
  const UnlockResult result = unlocked.result;
  // It may have been passed on, to a thread that has not been heard of yet.
  const auto claim = claims_.find(ts);
  const bool passable = claim != claims_.end() && fence < claim->second.last_fence;
  if (result == UnlockResult::released && passable) return;
  const bool undone = result == UnlockResult::released && undone_.contains(ts);
  if (result != UnlockResult::pending && lock.taken && lock.ts == ts && !excused(ts) && !undone) {
    violate("unlock of " + name + " did not say pending, but the store still has the hold");
  }
  const bool touched = excused(ts) || named_another_.contains(ts);
  if (result == UnlockResult::not_ours && unlocked.in_time && !touched) {
    violate("unlock of " + name + " said not ours, and nobody else could end the hold yet");
  }
}

void Oracle::waited_in_vain(const std::string& process, const std::string& name, Time since) {
  if (mirrored_) return;
  const auto& versions = history(name).versions;
  if (versions.back().since > since || versions.back().lock.taken) return;
  violate(process + " waited in vain for " + name + ", which was free");
}

void Oracle::told_lost(const std::string& name, const Token& ts, LossReason reason) {
  if (reason == LossReason::deadline_passed || excused(ts)) return;
  const StoredLock& lock = now_stored(name);
  if (!lock.taken || lock.ts != ts) return;
  violate("a holder of " + name + " was told that its hold is gone, but the store has it");
}

void Oracle::check_nothing_is_stray(const std::function<bool(const std::string& process)>& runs,
                                    Time for_at_least) {
  for (const auto& [name, lock] : locks_) {
    const Version& last = lock.versions.back();
    const bool ours = last.lock.taken && last.lock.sound && last.lock.ts &&
                      claims_.contains(*last.lock.ts) && runs(last.lock.process);
    if (!ours || belief_of(*last.lock.ts) != nullptr) continue;
    // A release may be on its way.
    const auto given_up = given_up_.find(*last.lock.ts);
    const Time known_until = given_up == given_up_.end() ? Time{0} : given_up->second;
    if (scheduler_.now() - std::max(last.since, known_until) >= for_at_least) {
      violate("lock " + name + " is kept from everybody by " + last.lock.process +
              ", which does not know that it holds it");
    }
  }
}

const Belief* Oracle::belief_of(const Token& ts, std::optional<Fence> fence) const {
  const auto found = std::find_if(beliefs_.begin(), beliefs_.end(), [&](const Belief& belief) {
    return belief.ts == ts && (!fence || belief.fence == *fence);
  });
  return found == beliefs_.end() ? nullptr : &*found;
}

bool Oracle::valid(const Belief& belief) const {
  return !excused(belief.ts) &&
         belief.object->valid_until() > belief.clock->steady_at_this_moment();
}

bool Oracle::someone_believes(std::string_view process) const {
  return std::any_of(beliefs_.begin(), beliefs_.end(),
                     [&](const Belief& belief) { return belief.process == process; });
}

bool Oracle::someone_valid(const std::string& lock) const {
  return std::any_of(beliefs_.begin(), beliefs_.end(),
                     [&](const Belief& belief) { return belief.lock == lock && valid(belief); });
}

}  // namespace distlock::sim
