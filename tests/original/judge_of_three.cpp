#include "original/judge_of_three.h"

#include <algorithm>

#include "sim/sim_clock.h"

namespace distlock::original {

using sim::StoredLock;
using sim::Time;

void JudgeOfThree::wrote(const Write& write, const StoredLock& before, const StoredLock& after) {
  note_end(write, before, after);
  if (write.verb == "propagate") note_propagation(write, before);
  if (!after.taken || !after.ts || (before.taken && before.ts == after.ts)) return;
  Claimed& claimed =
      claims_.try_emplace(*after.ts, Claimed{after.process, std::string(write.lock), now()})
          .first->second;
  claimed.written_at.at(write.server) = now();
  if (!claimed.freed || write.verb != "propagate") return;
  claimed.written_again = true;
  claimed.ended.reset();
}

void JudgeOfThree::note_end(const Write& write, const StoredLock& before, const StoredLock& after) {
  if (!before.taken || !before.ts || (after.taken && after.ts == before.ts)) return;
  const auto found = claims_.find(*before.ts);
  if (found == claims_.end()) return;
  Claimed& claimed = found->second;
  if (after.taken) return;
  const Freed end{std::string(write.verb), std::string(write.process), write.meant,
                  now() - pings_[claimed.process].last};
  if (!claimed.freed) claimed.freed = end;
  if (!claimed.ended) claimed.ended = end;
}

// A server that its claim did not reach is free since before it, and may be written.
void JudgeOfThree::note_propagation(const Write& write, const StoredLock& before) {
  if (before.taken || !before.ts || before.ts == write.meant) return;
  const auto last = claims_.find(*before.ts);
  const auto own = claims_.find(*write.meant);
  if (last == claims_.end() || own == claims_.end() || !last->second.got) return;
  if (last->second.since <= own->second.since) return;
  found(Flaw::propagation_of_free, std::string(write.process) + " takes " +
                                       std::string(write.lock) + ", which " + last->second.process +
                                       " has had and released since");
}

void JudgeOfThree::pinged(std::string_view process, StoreTime ping) {
  const Time said{ping.time_since_epoch() - sim::kEpoch};
  pings_[std::string(process)] = {now(), said - now()};
}

void JudgeOfThree::will_hold_while(const Token& ts, const std::function<bool()>& holds) {
  claims_[ts].holds_still = holds;
}

bool JudgeOfThree::believes(const Claimed& claimed) const {
  return claimed.got && !claimed.given_up && !dead_.contains(claimed.process) &&
         (!claimed.holds_still || claimed.holds_still());
}

Flaw JudgeOfThree::cause_of_force(const Claimed& claimed, const Freed& end) const {
  const auto found = pings_.find(claimed.process);
  const Pings pings = found == pings_.end() ? Pings{} : found->second;
  if (end.holder_was_silent < window_) {
    return pings.last_ahead > -window_ / 2 ? Flaw::fast_clock : Flaw::slow_clock;
  }
  const bool away = std::any_of(away_.begin(), away_.end(),
                                [&](const auto& span) { return span.second > pings.last; });
  return away ? Flaw::server_away : Flaw::silent_holder;
}

// By the servers that were the first's, and then the second's.
Flaw JudgeOfThree::cause_of_expiry(const Claimed& first, const Claimed& second) const {
  Flaw cause = Flaw::own_clock;
  for (std::size_t i = 0; i < kServers; ++i) {
    const auto& before = first.written_at.at(i);
    const auto& after = second.written_at.at(i);
    if (!before || !after || *after < *before) continue;
    const auto& emptied = emptied_.at(i);
    if (emptied && *emptied >= *before && *emptied <= *after) return Flaw::emptied_server;
    if (*after - *before < window_) cause = Flaw::server_clock;
  }
  return cause;
}

Flaw JudgeOfThree::cause_of_end(const Claimed& claimed, const Freed& end) const {
  if (end.verb == "unlock") {
    return end.by == claimed.process ? Flaw::own_late_unlock : Flaw::late_unlock;
  }
  const auto judged = end.meant ? claims_.find(*end.meant) : claims_.end();
  const bool is_meant = judged != claims_.end() && &judged->second == &claimed;
  return is_meant ? cause_of_force(claimed, end) : Flaw::double_takeover;
}

Flaw JudgeOfThree::cause(const Claimed& first, const Claimed& second) const {
  if (algorithm_ == Algorithm::redlock) return cause_of_expiry(first, second);
  // Somebody has taken over before, and freed the second's claims.
  if (second.freed && second.freed->verb == "force") {
    return second.written_again ? Flaw::late_propagation : cause_of_end(second, *second.freed);
  }
  return first.ended ? cause_of_end(first, *first.ended) : Flaw::two_winners;
}

void JudgeOfThree::holds(std::string_view process, std::string_view lock, const Token& ts) {
  Claimed& second = claims_[ts];
  for (const auto& [other, first] : claims_) {
    if (other == ts || first.lock != lock || !believes(first)) continue;
    found(cause(first, second),
          first.process + " and " + std::string(process) + " hold " + first.lock);
  }
  second.got = true;
  last_.insert_or_assign(std::string(lock), ts);
  got_at_[std::string(lock)] = now();
}

void JudgeOfThree::acts(std::string_view process, const Token& ts) {
  const Claimed& own = claims_[ts];
  const auto last = last_.find(own.lock);
  if (last == last_.end() || last->second == ts || own.holds_still()) return;
  found(Flaw::pause_after_majority, std::string(process) + " writes under " + own.lock +
                                        " beside " + claims_[last->second].process);
}

void JudgeOfThree::gives_up(std::string_view /*process*/, const Token& ts) {
  claims_[ts].given_up = true;
  claims_[ts].holds_still = nullptr;
}

// Its lock objects go with it.
void JudgeOfThree::died(std::string_view process) {
  dead_.emplace(process);
  for (auto& [ts, claimed] : claims_) {
    if (claimed.process == process) claimed.holds_still = nullptr;
  }
}

void JudgeOfThree::judge_leftover(const std::string& lock, const StoredLock& stored) {
  if (!stored.taken || !stored.ts || dead_.contains(stored.process)) return;
  const Claimed& claimed = claims_[*stored.ts];
  const bool heard = claimed.freed && claimed.freed->verb == "unlock";
  const Flaw of_release = heard ? Flaw::lost_release : Flaw::stuck_unlock;
  found(claimed.given_up ? of_release : Flaw::stuck_claim,
        lock + " stays with " + stored.process + " on a server, and nobody gets it");
}

bool JudgeOfThree::was_got(const std::string& lock, Time since) const {
  const auto at = got_at_.find(lock);
  return at != got_at_.end() && at->second >= since;
}

}  // namespace distlock::original
